/** Whatever a block changes, the topics that it concerns are found, and few others. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseBlock } from '../../src/events/event.ts';
import { formatAddress } from '../../src/exact/address.ts';
import {
  type WatchableTopic,
  type WatchedRows,
  WatchedTopics,
} from '../../src/http/push/watched-topics.ts';
import type { StateQuestion } from '../../src/info/question.ts';
import { parseSubscription } from '../../src/info/read-question.ts';
import { Random } from '../../src/simulator/random.ts';
import { createSimulator } from '../../src/simulator/simulator.ts';
import { applyInPieces } from '../../src/state/fold.ts';
import { createState, type State, type StateView } from '../../src/state/state.ts';
import { SEED, SEED_NOTE } from '../../tools/harness/seed.ts';
import { withoutTime } from '../../tools/harness/without-time.ts';
import { ALSO_LONG, scale } from '../scale.ts';

const ACCOUNTS = 60;
const BLOCKS = scale(120, 400);
/** A user that no event names. */
const STRANGER = `0x${'f'.repeat(40)}`;

class WatchedQuestion implements WatchableTopic {
  readonly question: StateQuestion;
  watched: WatchedRows | undefined;
  #text = '';

  constructor(question: StateQuestion, state: StateView) {
    this.question = question;
    this.hasChanged(state);
  }

  dependencies(state: StateView) {
    return this.question.dependencies(state);
  }

  /** Whether its answer is another one than at the last call. */
  hasChanged(state: StateView): boolean {
    const before = this.#text;
    this.#text = withoutTime(this.question.answer(state));
    return this.#text !== before;
  }
}

function listQuestions(state: StateView): StateQuestion[] {
  const { addresses, markets } = state;
  const users = Array.from({ length: addresses.table.rowCount - 1 }, (_, index) =>
    formatAddress(addresses.addressOf(index + 1)),
  );
  return [...users, STRANGER].flatMap((user) => [
    ...markets.dexes.map(({ name: dex }) =>
      parseSubscription({ type: 'clearinghouseState', user, dex }),
    ),
    parseSubscription({ type: 'allDexsClearinghouseState', user }),
    parseSubscription({ type: 'delegations', user }),
  ]);
}

/** The state of the simulator, block by block, each applied in pieces. */
function* applyPieces(state: State, line: string): Generator<void> {
  const { height, time, events } = parseBlock(line);
  const pieces = events.map((event) => [event]);
  yield* applyInPieces(state, { height, time }, pieces);
}

function applyWhole(state: State, line: string): void {
  for (const _piece of applyPieces(state, line));
}

/** Topics that are watched, and what is called back when all may have changed. */
class Watched extends WatchedTopics<WatchedQuestion> {
  readonly topics: WatchedQuestion[] = [];
  found = new Set<WatchedQuestion>();
  allChanges = 0;

  constructor() {
    super(() => {
      this.allChanges++;
      this.found = new Set(this.topics);
    });
  }

  watch(topics: readonly WatchedQuestion[], state: StateView): void {
    this.topics.push(...topics);
    for (const topic of topics) this.add(topic, state);
  }

  /** True if all have been found that blocks may have changed. */
  searchUntil(endMs: number): boolean {
    return this.search((topic) => this.found.add(topic), endMs);
  }
}

/** The topics that are found after a block, all of them at once. */
function findAll(watched: Watched, state: StateView): Set<WatchedQuestion> {
  watched.found = new Set();
  watched.advance(state);
  assert.equal(watched.searchUntil(Number.POSITIVE_INFINITY), true);
  return watched.found;
}

/** An exchange that is set up, with a topic for every question about its users. */
function watchExchange(seed: string) {
  const simulator = createSimulator({ seed, accounts: ACCOUNTS });
  const state = createState();
  while (!simulator.isSetUp) applyWhole(state, simulator.next());
  const watched = new Watched();
  const topics = listQuestions(state).map((question) => new WatchedQuestion(question, state));
  watched.watch(topics, state);
  findAll(watched, state);
  return { simulator, state, watched, topics };
}

test(`what changes is found, and little else ${SEED_NOTE}`, ALSO_LONG, (context) => {
  const { simulator, state, watched, topics } = watchExchange(`watched ${SEED}`);
  let found = 0;
  let changed = 0;
  for (let block = 0; block < BLOCKS; block++) {
    applyWhole(state, simulator.next());
    const looked = findAll(watched, state);
    found += looked.size;
    for (const topic of topics) {
      if (!topic.hasChanged(state)) continue;
      changed++;
      assert.ok(looked.has(topic), `${topic.question.type} at ${state.height}`);
    }
  }
  context.diagnostic(`${changed} changed, ${found} found, ${topics.length * BLOCKS} in all`);
  assert.ok(changed > 0 && found < topics.length * BLOCKS);
});

test(`what changes while others are searched for is found as well ${SEED_NOTE}`, ALSO_LONG, () => {
  const random = new Random(`in pieces ${SEED}`);
  const { simulator, state, watched, topics } = watchExchange(`pieces ${SEED}`);
  /** Those that have changed and were not found since. */
  const due = new Set<WatchedQuestion>();
  const search = (endMs: number) => {
    watched.found.clear();
    const isDone = watched.searchUntil(endMs);
    for (const topic of watched.found) due.delete(topic);
    return isDone;
  };
  let interrupted = 0;
  for (let block = 0; block < BLOCKS; block++) {
    for (const _piece of applyPieces(state, simulator.next())) {
      // Also in the middle of a block, whose changes are hidden meanwhile.
      if (random.chance(0.1)) search(Number.NEGATIVE_INFINITY);
    }
    for (const topic of topics) if (topic.hasChanged(state)) due.add(topic);
    watched.advance(state);
    // Some topics only, and now and then all.
    const isDone = search(random.chance(0.2) ? Number.POSITIVE_INFINITY : Number.NEGATIVE_INFINITY);
    if (isDone) assert.equal(due.size, 0, `at ${state.height}`);
    else interrupted++;
  }
  assert.ok(interrupted > BLOCKS / 4, `${interrupted} searches were interrupted`);
  search(Number.POSITIVE_INFINITY);
  assert.equal(due.size, 0);
});

test(
  `one that is added in the middle of a block is found if the block changes it ${SEED_NOTE}`,
  ALSO_LONG,
  () => {
    const random = new Random(`in the middle ${SEED}`);
    const simulator = createSimulator({ seed: `watched ${SEED}`, accounts: ACCOUNTS });
    const state = createState();
    while (!simulator.isSetUp) applyWhole(state, simulator.next());
    for (let block = 0; block < BLOCKS / 4; block++) {
      const watched = new Watched();
      const pieces = applyPieces(state, simulator.next());
      pieces.next();
      const topics = listQuestions(state)
        .filter(() => random.chance(0.2))
        .map((question) => new WatchedQuestion(question, state));
      watched.watch(topics, state);
      while (pieces.next().done !== true);
      const looked = findAll(watched, state);
      for (const topic of topics) {
        if (topic.hasChanged(state)) assert.ok(looked.has(topic), topic.question.type);
        watched.delete(topic);
      }
    }
  },
);

const COINS = Array.from({ length: 10 }, (_, index) => `C${index}`);
const TIERS = [{ lowerBound: '0.0', maxLeverage: 10 }];

function blockOf({ height }: StateView, events: readonly object[]): string {
  return JSON.stringify({ height: height + 1, time: 1000, events });
}

function buy(user: string, coin: string) {
  return { type: 'fill', user, coin, side: 'B', sz: '1.0', px: '10.0', fee: '0.0' };
}

/** An exchange on which each user holds some coins, the next ones in turn, and a topic for each account. */
function watchHolders(users: readonly string[], coinsEach: number) {
  const coinsOf = (user: number) =>
    Array.from({ length: coinsEach }, (_, index) => COINS[(user + index) % COINS.length]);
  const market = { type: 'market', dex: '', szDecimals: 2, marginTiers: TIERS };
  const state = createState();
  applyWhole(
    state,
    blockOf(state, [
      ...COINS.map((coin) => ({ ...market, coin, onlyIsolated: false, markPx: '10.0' })),
      ...users.map((user) => ({ type: 'transfer', user, dex: '', amount: '1000.0' })),
      ...users.flatMap((user, index) => coinsOf(index).map((coin) => buy(user, coin))),
    ]),
  );
  const watched = new Watched();
  const topics = users.map((user) => {
    const question = parseSubscription({ type: 'clearinghouseState', user, dex: '' });
    return new WatchedQuestion(question, state);
  });
  watched.watch(topics, state);
  findAll(watched, state);
  return { state, watched, topics, coinsOf };
}

function pricesOf(coins: readonly string[]) {
  return { type: 'marks', prices: Object.fromEntries(coins.map((coin) => [coin, '11.0'])) };
}

const USERS = Array.from({ length: 100 }, (_, index) => `0x${String(index).padStart(40, '0')}`);

test('three marks and ten fills lead to the holders of these coins and those ten, and to no one else', () => {
  const { state, watched, topics, coinsOf } = watchHolders(USERS, 1);
  const moved = COINS.slice(0, 3);
  const traders = USERS.map((_, index) => index).filter((index) => index % 10 === 5);
  const fills = traders.map((index) => buy(USERS[index], coinsOf(index)[0]));
  applyWhole(state, blockOf(state, [pricesOf(moved), ...fills]));
  const looked = findAll(watched, state);
  const expected = topics.filter(
    (_, index) => moved.includes(coinsOf(index)[0]) || traders.includes(index),
  );
  assert.equal(expected.length, 40);
  assert.deepEqual(
    topics.filter((topic) => looked.has(topic)),
    expected,
  );
  assert.equal(watched.allChanges, 0);
});

test('marks of nearly everybody lead to all at once, and fills of the same block to their own', () => {
  const { state, watched, topics } = watchHolders(USERS, 4);
  const alone: WatchedQuestion[] = [];
  applyWhole(state, blockOf(state, [pricesOf(COINS), buy(USERS[7], COINS[0])]));
  watched.advance(state);
  assert.equal(
    watched.search((topic) => alone.push(topic), Number.POSITIVE_INFINITY),
    true,
  );
  assert.deepEqual([watched.allChanges, alone], [1, [topics[7]]]);
  applyWhole(state, blockOf(state, [pricesOf(COINS)]));
  assert.deepEqual([findAll(watched, state).size, watched.allChanges], [0, 1]);
});

test('a block that is under way when a replaced state is first searched is found whole', () => {
  const simulator = createSimulator({ seed: 'replaced', accounts: 4 });
  const [before, state] = [createState(), createState()];
  while (!simulator.isSetUp) {
    const line = simulator.next();
    for (const each of [before, state]) applyWhole(each, line);
  }
  const watched = new Watched();
  watched.watch(
    listQuestions(before).map((question) => new WatchedQuestion(question, before)),
    before,
  );
  findAll(watched, before);
  watched.advance(state);
  const users = [1, 2].map((row) => formatAddress(state.addresses.addressOf(row)));
  const events = users.map((user) => ({ type: 'transfer', user, dex: '', amount: '1.0' }));
  const { height, time } = state;
  const pieces = applyPieces(state, JSON.stringify({ height: height + 1, time, events }));
  pieces.next();
  watched.searchUntil(Number.POSITIVE_INFINITY);
  for (const _piece of pieces);
  const found = [...findAll(watched, state)].map(({ question }) => question.formatFields());
  for (const user of users) assert.ok(found.includes(`"user":"${user}","dex":""`), user);
});
