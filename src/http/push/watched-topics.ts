/**
 * Which topics a block may have changed: those about accounts and delegations that it names, and those
 * of accounts that are open in a market whose mark or terms it changes. All others are not checked.
 *
 * They are searched for in pieces, since there may be very many. Blocks that come meanwhile are
 * left to the next search, so that each comes to its end.
 */

import type { Dependencies } from '../../info/question-type.ts';
import { listsChangedAt } from '../../state/changed-at.ts';
import type { StateView } from '../../state/state.ts';
import * as column from '../../state/tables/columns.ts';
import { marketOfTerms } from '../../state/tables/columns.ts';

/** The rows that a topic is registered under. */
export interface WatchedRows {
  readonly accounts: readonly number[];
  readonly addresses: readonly number[];
  readonly markets: readonly number[];
}

/** What a topic has to have. */
export interface WatchableTopic {
  /** The rows that it is registered under. */
  watched: WatchedRows | undefined;
  /** Undefined if any block may change it. */
  dependencies(state: StateView): Dependencies | undefined;
}

/** Search steps between two checks of the clock. */
const STEPS_PER_CHECK = 64;

/** All topics are marked at once if the markets that moved list this many times as many. */
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
  /** Those that any block may change. */
  readonly #always = new Set<Topic>();
  /** The state whose changes are noted, and the height up to which they have been searched. */
  #state: StateView | undefined;
  #height = 0;
  /** The state is another one, or noting began in the middle of a block, after its first changes. */
  #hasJustBegun = false;
  /** The state that has advanced since the last search began, if it has. */
  #advanced: StateView | undefined;
  /** What is left of the search that is under way. */
  #underWay: Iterator<Topic | undefined> | undefined;

  /** Calls back instead of naming each topic, where naming them would be more work. */
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

  /** A block was applied, or another state took the place of the last one. Never within a block. */
  advance(state: StateView): void {
    if (this.#all.size === 0) return;
    this.#advanced = state;
    if (state === this.#state) return;
    this.#underWay = undefined;
    // At once: the search may begin in the middle of a later block, whose first changes it needs too.
    this.#watch(state);
  }

  /** Calls back with topics that blocks may have changed, until the time is up; true if that was all. */
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

  /** After a restore, or with a new dex, every topic may depend on other rows. */
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

  /** A topic may come several times. */
  *#findChanged(state: StateView, since: number): Generator<Topic | undefined> {
    const { accounts, addresses } = state.changes.take();
    const revalued = this.#listRevalued(state, since);
    if (revalued === undefined) this.#allChanged();
    yield* this.#registerAgain(state, this.#always);
    for (const row of accounts) yield* this.#registerAgain(state, this.#byRow.accounts.get(row));
    for (const row of addresses) yield* this.#registerAgain(state, this.#byRow.addresses.get(row));
    for (const topics of revalued ?? []) yield* topics;
  }

  /** Topics that may depend on other rows than before. A step without a topic comes for each row. */
  *#registerAgain(state: StateView, topics: Iterable<Topic> = []): Generator<Topic | undefined> {
    yield undefined;
    // A copy: a topic that is registered again would come again.
    for (const topic of [...topics]) {
      if (!this.#all.has(topic)) continue;
      this.#register(topic, state);
      yield topic;
    }
  }

  /**
   * The topics of each market whose mark or terms have changed; undefined if they are so many that all
   * are to be marked at once. There are few markets, so each is checked.
   */
  #listRevalued({ markets }: StateView, since: number): Iterable<Topic>[] | undefined {
    const revalued = [...this.#byRow.markets]
      .filter(([index]) => markets.changedAt(index) > since)
      .map(([, topics]) => topics);
    const count = revalued.reduce((sum, topics) => sum + topics.size, 0);
    // If all marks move, marking every topic once is less work than once per market.
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
    // A fill mostly changes a position that is open, and leaves it open.
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

/** The markets that the accounts are open in. */
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
