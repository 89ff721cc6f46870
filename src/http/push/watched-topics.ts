/**
 * Finds the topics that a block may have changed. These are topics about accounts and delegations
 * that the block names, and topics about accounts with a position in a market whose mark price or
 * terms the block changes. No other topic has to be checked.
 *
 * The search runs in pieces, because there may be very many topics. Blocks that are applied during
 * a search belong to the next search, so that every search ends.
 */

import type { Dependencies } from '../../info/question-type.ts';
import { listsChangedAt } from '../../state/changed-at.ts';
import type { StateView } from '../../state/state.ts';
import * as column from '../../state/tables/columns.ts';
import { marketOfTerms } from '../../state/tables/columns.ts';

/** The rows under which a topic is registered. */
export interface WatchedRows {
  readonly accounts: readonly number[];
  readonly addresses: readonly number[];
  readonly markets: readonly number[];
}

/** The part of a topic that this file uses. */
export interface WatchableTopic {
  /**
   * The rows under which the topic is registered; undefined if the topic is not registered under
   * rows.
   */
  watched: WatchedRows | undefined;
  /**
   * Returns the rows that the topic depends on; returns undefined if any block may change the
   * topic.
   */
  dependencies(state: StateView): Dependencies | undefined;
}

/** Number of search steps between two reads of the clock. */
const STEPS_PER_CHECK = 64;

/**
 * If the changed markets list at least this many times as many topics as there are, all topics are
 * marked together.
 */
const ALL_FACTOR = 3;

const KINDS = ['accounts', 'addresses', 'markets'] as const;
type ByRow<Topic> = Map<number, Set<Topic>>;

export class WatchedTopics<Topic extends WatchableTopic> {
  readonly #byRow: Record<(typeof KINDS)[number], ByRow<Topic>> = {
    accounts: new Map(),
    addresses: new Map(),
    markets: new Map(),
  };
  readonly #all = new Set<Topic>();
  readonly #allChanged: () => void;
  /** Topics that any block may change. */
  readonly #always = new Set<Topic>();
  /**
   * The state that records its changes, and the height up to which its changes have been searched.
   */
  #state: StateView | undefined;
  #height = 0;
  /**
   * True if the state is new, or if recording started in the middle of a block. Changes may then be
   * missing.
   */
  #hasJustBegun = false;
  /** The state, if it has advanced since the last search started. */
  #advanced: StateView | undefined;
  /** The rest of the search in progress. */
  #underWay: Iterator<Topic | undefined> | undefined;

  /**
   * `allChanged` is called instead of naming each topic, if naming each topic would be more work.
   */
  constructor(allChanged: () => void) {
    this.#allChanged = allChanged;
  }

  add(topic: Topic, state: StateView): void {
    if (this.#all.size === 0) this.#watch(state);
    this.#all.add(topic);
    this.#register(topic, state);
  }

  delete(topic: Topic): void {
    if (!this.#all.delete(topic)) return;
    this.#unregister(topic);
    if (this.#all.size > 0) return;
    this.#state?.changes.watch(false);
    this.#state = undefined;
    this.#advanced = undefined;
    this.#underWay = undefined;
  }

  /**
   * Called after a block was applied, or after the state was replaced. Never called in the middle
   * of a block.
   */
  advance(state: StateView): void {
    if (this.#all.size === 0) return;
    this.#advanced = state;
    if (state === this.#state) return;
    this.#underWay = undefined;
    // Recording starts now, because the search may start in the middle of a later block, and needs
    // all changes of that block.
    this.#watch(state);
  }

  /**
   * Calls `changed` with each topic that blocks may have changed, until `endMs`. Returns true if
   * the search is complete. A topic may be named several times.
   */
  search(changed: (topic: Topic) => void, endMs: number): boolean {
    for (let step = 1; this.#underWay !== undefined || this.#advanced !== undefined; step++) {
      this.#underWay ??= this.#startSearch();
      const { value, done } = this.#underWay.next();
      if (done === true) this.#underWay = undefined;
      else if (value !== undefined) changed(value);
      if (step % STEPS_PER_CHECK === 0 && performance.now() > endMs) return false;
    }
    return true;
  }

  #startSearch(): Iterator<Topic | undefined> {
    const state = this.#advanced as StateView;
    this.#advanced = undefined;
    const hasNewLists = listsChangedAt(state) > this.#height;
    if (hasNewLists || this.#hasJustBegun) return this.#startOver(state);
    const since = this.#height;
    this.#height = state.height;
    return this.#findChanged(state, since);
  }

  #watch(state: StateView): void {
    if (state !== this.#state) this.#state?.changes.watch(false);
    this.#state = state;
    this.#height = state.height;
    this.#hasJustBegun = true;
    state.changes.watch(true);
  }

  /**
   * Registers all topics again, because every topic may depend on other rows after a restore, or
   * after a dex was added.
   */
  #startOver(state: StateView): Iterator<Topic> {
    state.changes.take();
    this.#watch(state);
    this.#hasJustBegun = false;
    return this.#registerAll(state);
  }

  *#registerAll(state: StateView): Generator<Topic> {
    for (const topic of this.#all) {
      this.#register(topic, state);
      yield topic;
    }
  }

  /** Finds the changed topics. The result may contain a topic several times. */
  *#findChanged(state: StateView, since: number): Generator<Topic | undefined> {
    const { accounts, addresses } = state.changes.take();
    const revalued = this.#listRevalued(state, since);
    if (revalued === undefined) this.#allChanged();
    yield* this.#registerAgain(state, this.#always);
    for (const row of accounts) yield* this.#registerAgain(state, this.#byRow.accounts.get(row));
    for (const row of addresses) yield* this.#registerAgain(state, this.#byRow.addresses.get(row));
    for (const topics of revalued ?? []) yield* topics;
  }

  /**
   * Registers topics again, because their rows may have changed. Also yields undefined once per
   * call, so that each row counts as a step of the search.
   */
  *#registerAgain(state: StateView, topics: Iterable<Topic> = []): Generator<Topic | undefined> {
    yield undefined;
    // The loop uses a copy, because registering a topic again adds the topic to the set during the
    // iteration.
    for (const topic of [...topics]) {
      if (!this.#all.has(topic)) continue;
      this.#register(topic, state);
      yield topic;
    }
  }

  /**
   * Lists the topics of each market whose mark price or terms have changed. Returns undefined if
   * there are so many topics that all topics should be marked together. There are few markets, so
   * each market is checked.
   */
  #listRevalued({ markets }: StateView, since: number): Iterable<Topic>[] | undefined {
    const revalued = [...this.#byRow.markets]
      .filter(([index]) => markets.changedAt(index) > since)
      .map(([, topics]) => topics);
    const count = revalued.reduce((sum, topics) => sum + topics.size, 0);
    // If all mark prices change, marking every topic once is less work than marking the topics of
    // each market.
    return count < ALL_FACTOR * this.#all.size ? revalued : undefined;
  }

  #register(topic: Topic, state: StateView): void {
    const dependencies = topic.dependencies(state);
    if (dependencies === undefined) {
      this.#unregister(topic);
      this.#always.add(topic);
      return;
    }
    const { accounts, addresses } = dependencies;
    const watched = { accounts, addresses, markets: listMarkets(state, accounts) };
    // Most fills change an open position without closing it, so the rows are usually unchanged.
    if (areSameRows(topic.watched, watched)) return;
    this.#unregister(topic);
    topic.watched = watched;
    for (const kind of KINDS) {
      for (const row of watched[kind]) addTopic(this.#byRow[kind], row, topic);
    }
  }

  #unregister(topic: Topic): void {
    this.#always.delete(topic);
    const { watched } = topic;
    if (watched === undefined) return;
    topic.watched = undefined;
    for (const kind of KINDS) {
      for (const row of watched[kind]) deleteTopic(this.#byRow[kind], row, topic);
    }
  }
}

function areSameRows(before: WatchedRows | undefined, after: WatchedRows): boolean {
  if (before === undefined) return false;
  return KINDS.every((kind) => {
    const rows = before[kind];
    return rows.length === after[kind].length && rows.every((row, at) => row === after[kind][at]);
  });
}

/** Returns the markets in which the accounts have open positions. */
function listMarkets({ accounts, positions }: StateView, rows: readonly number[]): number[] {
  const markets: number[] = [];
  for (const account of rows) {
    let position = accounts.get(account, column.FIRST_POSITION);
    for (; position !== 0; position = positions.get(position, column.NEXT_POSITION)) {
      if (positions.get(position, column.SIZE) === 0) continue;
      markets.push(marketOfTerms(positions.get(position, column.TERMS)));
    }
  }
  return markets;
}

function addTopic<Topic>(byRow: ByRow<Topic>, row: number, topic: Topic): void {
  const topics = byRow.get(row);
  if (topics === undefined) byRow.set(row, new Set([topic]));
  else topics.add(topic);
}

function deleteTopic<Topic>(byRow: ByRow<Topic>, row: number, topic: Topic): void {
  const topics = byRow.get(row);
  topics?.delete(topic);
  if (topics?.size === 0) byRow.delete(row);
}
