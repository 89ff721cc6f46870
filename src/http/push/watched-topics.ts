/**
 * Which topics a block may have changed: those about accounts and delegations that it names, and those
 * of accounts that are open in a market whose mark or terms it changes. All others are not looked at.
 */

import type { Dependencies } from '../../info/request.ts';
import * as column from '../../state/columns.ts';
import { marketOfTerms } from '../../state/columns.ts';
import type { StateView } from '../../state/state.ts';

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

/** All topics are looked at if those of the markets that moved would be this many times as many. */
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
  /** Those that any block may change. */
  readonly #always = new Set<Topic>();
  /** The state whose changes are noted, and the height up to which they have been looked at. */
  #state: StateView | undefined;
  #height = 0;
  /** It may have begun in the middle of a block, whose first changes were not noted. */
  #hasJustBegun = false;

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
  }

  /** Calls back with the topics that the blocks since the last call may have changed. */
  advance(state: StateView, changed: (topic: Topic) => void): void {
    if (this.#all.size === 0) return;
    const isOther = state !== this.#state || state.markets.dexesChangedAt > this.#height;
    if (isOther || this.#hasJustBegun) {
      this.#startOver(state);
      this.#hasJustBegun = false;
      for (const topic of this.#all) changed(topic);
      return;
    }
    for (const topic of this.#findMoved(state)) {
      this.#register(topic, state);
      changed(topic);
    }
    this.#findRevalued(state, changed);
    this.#height = state.height;
  }

  #watch(state: StateView): void {
    if (state !== this.#state) this.#state?.changes.watch(false);
    this.#state = state;
    this.#height = state.height;
    this.#hasJustBegun = true;
    state.changes.watch(true);
  }

  /** After a restore, or with a new dex, every topic may depend on other rows. */
  #startOver(state: StateView): void {
    state.changes.take();
    this.#watch(state);
    for (const topic of this.#all) this.#register(topic, state);
  }

  /** Topics that may depend on other rows than before. */
  #findMoved(state: StateView): Set<Topic> {
    const { accounts, addresses } = state.changes.take();
    const moved = new Set(this.#always);
    addTopics(moved, this.#byRow.accounts, accounts);
    addTopics(moved, this.#byRow.addresses, addresses);
    return moved;
  }

  /** There are few markets, so all are looked at. A topic that is open in several comes several times. */
  #findRevalued({ markets }: StateView, changed: (topic: Topic) => void): void {
    const revalued = [...this.#byRow.markets]
      .filter(([index]) => markets.changedAt(index) > this.#height)
      .map(([, topics]) => topics);
    const count = revalued.reduce((sum, topics) => sum + topics.size, 0);
    // If all marks move, all topics once are fewer than each of them for each of its markets.
    for (const topics of count < ALL_FACTOR * this.#all.size ? revalued : [this.#all]) {
      for (const topic of topics) changed(topic);
    }
  }

  #register(topic: Topic, state: StateView): void {
    this.#unregister(topic);
    const dependencies = topic.dependencies(state);
    if (dependencies === undefined) {
      this.#always.add(topic);
      return;
    }
    const markets = listMarkets(state, dependencies.accounts);
    topic.watched = { ...dependencies, markets };
    for (const kind of KINDS) {
      for (const row of topic.watched[kind]) addTopic(this.#byRow[kind], row, topic);
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

function addTopics<Topic>(found: Set<Topic>, byRow: ByRow<Topic>, rows: readonly number[]): void {
  for (const row of rows) {
    for (const topic of byRow.get(row) ?? []) found.add(topic);
  }
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
