/** Seeded runs of the client against a server that does everything wrong, counted on its side. */

import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import { type TestContext, test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { PUBLIC_WEIGHTS } from '../../../src/info/upstream-weights.ts';
import { Random } from '../../../src/simulator/random.ts';
import type { Priority } from '../../../src/upstream/client/limits/priority.ts';
import { UpstreamError } from '../../../src/upstream/client/upstream-error.ts';
import { SEED, SEED_NOTE } from '../../../tools/harness/seed.ts';
import { LONG_ONLY, scale } from '../../scale.ts';
import type { ManualClock } from '../manual-clock.ts';
import { json, plain, RESET, type Respond } from './scripted-server.ts';
import { openFixture, type UpstreamFixture, USER } from './upstream-fixture.ts';

const MINUTE_MS = 60_000;
const STEPS = 200;
/** Steps after which the server changes its mood. */
const MOOD_STEPS = 20;
const MOODS = ['good', 'good', 'flaky', 'hanging', 'gone', 'limited', 'slow'] as const;
const PRIORITIES_ASKED = ['asked', 'asked', 'upkeep', 'trade', 'hour', 'sweep', 'forward'] as const;
const TYPES = ['clearinghouseState', 'clearinghouseState', 'delegations', 'userFills'] as const;
const FAULTS: readonly Respond[] = [
  RESET,
  json(null, 429),
  json(null, 500),
  plain(422, 'Failed to deserialize the JSON body into the target type'),
  plain(503, 'no healthy upstream'),
  (response) => {
    response.writeHead(200, { 'content-type': 'application/json' });
    response.end('{"time": 1, "asset');
  },
  (response) => {
    response.writeHead(200, { 'content-type': 'application/json', 'content-length': '50' });
    response.write('[', () => response.socket?.destroy());
  },
];

class MoodyServer {
  readonly #clock: ManualClock;
  readonly #random: Random;
  readonly counted: { readonly atMs: number; readonly weight: number }[] = [];
  readonly #held: { readonly response: ServerResponse; readonly type: string }[] = [];
  mood: (typeof MOODS)[number] = 'good';

  constructor(clock: ManualClock, random: Random) {
    this.#clock = clock;
    this.#random = random;
  }

  readonly respond: Respond = (response, seen) => {
    const { type } = JSON.parse(seen.body);
    this.#count(PUBLIC_WEIGHTS.of(type));
    if (this.mood === 'hanging' || this.mood === 'slow') this.#held.push({ response, type });
    else if (this.mood === 'gone') RESET(response, seen);
    else if (this.mood === 'limited') json(null, 429)(response, seen);
    else if (this.mood === 'flaky' && this.#random.chance(0.5)) this.#fail(response, seen);
    else this.#answer(response, type);
  };

  #count(weight: number): void {
    this.counted.push({ atMs: this.#clock.nowMs(), weight });
  }

  #fail(response: ServerResponse, seen: Parameters<Respond>[1]): void {
    FAULTS[this.#random.below(FAULTS.length)](response, seen);
  }

  /** Fills cost one more for each twenty. */
  #answer(response: ServerResponse, type: string): void {
    const items = type === 'userFills' ? this.#random.below(2001) : 0;
    this.#count(Math.ceil(items / 20));
    response.writeHead(200, { 'content-type': 'application/json' });
    response.end(JSON.stringify(Array.from({ length: items }, (_, tid) => tid)));
  }

  /** Answers some of what it holds; a client that has given up does not notice. */
  goOn(): void {
    if (this.mood === 'hanging') return;
    while (this.#held.length > 0 && this.#random.chance(0.8)) {
      const { response, type } = this.#held.splice(this.#random.below(this.#held.length), 1)[0];
      this.#answer(response, type);
    }
  }

  get fullestWindow(): number {
    const sums = this.counted.map(({ atMs }) =>
      this.counted
        .filter((other) => other.atMs <= atMs && other.atMs >= atMs - MINUTE_MS)
        .reduce((sum, { weight }) => sum + weight, 0),
    );
    return Math.max(0, ...sums);
  }
}

interface Tally {
  pending: number;
  answered: number;
  failed: number;
}

function askSomething({ upstream }: UpstreamFixture, random: Random, tally: Tally): void {
  const type = TYPES[random.below(TYPES.length)];
  const priority: Priority =
    type === 'userFills' ? 'forward' : PRIORITIES_ASKED[random.below(PRIORITIES_ASKED.length)];
  const isForClient = priority === 'asked' || priority === 'forward';
  const question = { type, user: USER, dex: `d${random.below(100)}` };
  const options = isForClient ? { priority, waitMsMax: 5_000 } : { priority };
  tally.pending++;
  upstream
    .ask(question, options)
    .then(
      () => tally.answered++,
      (error) => {
        assert.ok(error instanceof UpstreamError, String(error));
        tally.failed++;
      },
    )
    .finally(() => tally.pending--);
}

/** Time passes, and input and output go on for a random while. */
async function pass(clock: ManualClock, random: Random): Promise<void> {
  clock.advance(random.chance(0.1) ? random.below(20_000) : random.below(500));
  for (let turns = random.below(8); turns >= 0; turns--) await nextTurn();
}

async function run(t: TestContext, seed: string, budget: number): Promise<MoodyServer> {
  const random = new Random(seed);
  const fixture = await openFixture(t, json([]), {
    budget,
    forwardShare: 0.5,
    random: () => random.fraction(),
  });
  const { clock } = fixture;
  const server = new MoodyServer(clock, random);
  fixture.server.respond = server.respond;
  const tally = { pending: 0, answered: 0, failed: 0 };
  for (let step = 0; step < STEPS; step++) {
    if (step % MOOD_STEPS === 0) server.mood = MOODS[random.below(MOODS.length)];
    for (let count = random.below(10); count > 0; count--) askSomething(fixture, random, tally);
    server.goOn();
    await pass(clock, random);
  }
  server.mood = 'good';
  for (let rounds = 0; tally.pending > 0; rounds++) {
    assert.ok(rounds < 20_000, `${tally.pending} questions wait for ever`);
    server.goOn();
    await pass(clock, random);
  }
  assert.ok(tally.answered > 0);
  await fixture.upstream.close();
  assert.equal(clock.pendingTimers, 0);
  return server;
}

test(
  `through all faults the budget is kept, and everything is settled ${SEED_NOTE}`,
  LONG_ONLY,
  async (t) => {
    for (let index = 0; index < scale(3, 3, 40); index++) {
      const budget = [250, 500, 1200][index % 3];
      const { fullestWindow } = await run(t, `${SEED}-${index}`, budget);
      assert.ok(fullestWindow <= budget, `run ${index}: ${fullestWindow} of ${budget}`);
    }
  },
);
