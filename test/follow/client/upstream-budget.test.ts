/** The budget at the upstream: what is sent when, and what the upstream counts of it. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { Priority } from '../../../src/upstream/client/limits/priority.ts';
import {
  type BudgetOptions,
  type Ticket,
  UpstreamBudget,
  type WaitingRequest,
} from '../../../src/upstream/client/limits/upstream-budget.ts';
import { UpstreamError } from '../../../src/upstream/client/upstream-error.ts';
import { runs, SEED_NOTE } from '../../../tools/harness/seed.ts';
import { ALSO_FULL, scale } from '../../scale.ts';
import { ManualClock } from '../manual-clock.ts';

const MINUTE_MS = 60_000;

interface Fixture {
  readonly clock: ManualClock;
  readonly budget: UpstreamBudget;
  /** Requests in the order in which they were granted. */
  readonly granted: WaitingRequest[];
  readonly failures: UpstreamError[];
  /** Requests without an end are in flight. */
  readonly tickets: Ticket[];
  request(weight: number, priority: Priority): WaitingRequest;
  /** Requests so many times, and ends each request as soon as it is sent. */
  spend(count: number, weight: number, priority: Priority): void;
}

function createFixture(options: Partial<BudgetOptions> = {}): Fixture {
  const clock = new ManualClock();
  const given = { limit: 1200, forwardShare: 0, inFlightMax: 1000, clock, ...options };
  const budget = new UpstreamBudget(given);
  const granted: WaitingRequest[] = [];
  const tickets: Ticket[] = [];
  const failures: UpstreamError[] = [];
  const createWaiter = (
    weight: number,
    priority: Priority,
    use: (ticket: Ticket) => void,
  ): WaitingRequest => ({
    weight,
    priority,
    granted(ticket) {
      granted.push(this);
      use(ticket);
    },
    failed: (error) => failures.push(error),
  });
  return {
    clock,
    budget,
    granted,
    tickets,
    failures,
    request(weight, priority) {
      const waiter = createWaiter(weight, priority, (ticket) => tickets.push(ticket));
      budget.request(waiter);
      return waiter;
    },
    spend(count, weight, priority) {
      for (let index = 0; index < count; index++) {
        budget.request(createWaiter(weight, priority, (ticket) => ticket.end('arrived', weight)));
      }
    },
  };
}

test('what is spent is free again a minute after the response ended, not after it was sent', () => {
  const { clock, budget, granted, tickets, spend, request } = createFixture();
  spend(59, 20, 'upkeep');
  request(20, 'upkeep');
  clock.advance(30_000);
  tickets[0].end('arrived', 20);
  assert.equal(budget.left, 0);
  // The 59 leave the window, the one that took 30 s stays.
  clock.advance(31_000);
  assert.equal(budget.left, 1180);
  spend(60, 20, 'upkeep');
  assert.equal(granted.length, 60 + 59);
  clock.advance(30_000);
  assert.equal(granted.length, 60 + 60);
});

test('a request in flight counts for as long as it takes', () => {
  const { clock, budget, request } = createFixture();
  request(20, 'upkeep');
  clock.advance(10 * MINUTE_MS);
  assert.equal(budget.left, 1180);
});

test('a request that was never sent costs nothing', () => {
  const { budget, tickets, request } = createFixture();
  request(20, 'asked');
  tickets[0].end('unsent', 20);
  assert.equal(budget.left, 1200);
});

test('a request that we stopped waiting for counts until a minute after the next answer', () => {
  const { clock, budget, tickets, request } = createFixture();
  request(20, 'asked');
  tickets[0].end('unknown', 20);
  clock.advance(4 * MINUTE_MS);
  assert.equal(budget.left, 1180);
  budget.answered(clock.nowMs());
  clock.advance(MINUTE_MS);
  assert.equal(budget.left, 1180);
  clock.advance(1_000);
  assert.equal(budget.left, 1200);
});

test('without any answer it counts for five minutes', () => {
  const { clock, budget, tickets, request } = createFixture();
  request(20, 'asked');
  tickets[0].end('unknown', 20);
  clock.advance(5 * MINUTE_MS - 1);
  assert.equal(budget.left, 1180);
  clock.advance(1);
  assert.equal(budget.left, 1200);
});

test('what is not needed of the weight that was set aside is free at once', () => {
  const { budget, tickets, request } = createFixture();
  request(120, 'upkeep');
  assert.equal(budget.left, 1080);
  tickets[0].end('arrived', 21);
  assert.equal(budget.left, 1179);
});

test('more important requests overtake those that wait', () => {
  const { clock, budget, granted, spend, request } = createFixture();
  spend(60, 20, 'upkeep');
  const sweep = request(2, 'sweep');
  const hour = request(2, 'hour');
  const trade = request(2, 'trade');
  const asked = request(2, 'asked');
  const promoted = request(2, 'sweep');
  budget.promote(promoted, 'asked');
  clock.advance(61_000);
  assert.deepEqual(granted.slice(60), [asked, promoted, trade, hour, sweep]);
});

test('a sweep never uses what is kept for clients, hours and trades', () => {
  const { budget, granted, clock, spend, request } = createFixture();
  spend(600, 2, 'sweep');
  clock.advance(MINUTE_MS);
  assert.ok(budget.left >= 300, String(budget.left));
  const sent = granted.length;
  spend(30, 2, 'hour');
  spend(30, 2, 'trade');
  const asked = request(2, 'asked');
  assert.equal(granted.length, sent + 61);
  assert.equal(granted.at(-1), asked);
});

test('clients that ask without end leave enough for the markets', () => {
  const { granted, spend, request } = createFixture();
  spend(1000, 2, 'asked');
  assert.equal(granted.length, 570);
  request(20, 'upkeep');
  request(20, 'upkeep');
  request(20, 'upkeep');
  assert.equal(granted.length, 573);
});

test('a sweep is spread evenly over the minute', () => {
  const { granted, clock, spend } = createFixture();
  spend(5000, 2, 'sweep');
  const perSecond: number[] = [];
  for (let second = 0; second < 180; second++) {
    const before = granted.length;
    clock.advance(1_000);
    perSecond.push(granted.length - before);
  }
  // 900 of 1200 are 450 requests of weight 2 in somewhat more than a minute.
  assert.ok(
    perSecond.every((count) => count >= 6 && count <= 8),
    String(perSecond),
  );
});

test('a heavy request is not starved by lighter ones that are less important', () => {
  const { clock, granted, spend, request } = createFixture();
  spend(58, 20, 'upkeep');
  const heavy = request(60, 'asked');
  spend(100, 2, 'trade');
  assert.equal(granted.length, 58);
  clock.advance(61_000);
  assert.equal(granted[58], heavy);
});

test('forwarded questions and the follower do not use up each other', () => {
  const { clock, granted, spend, request } = createFixture({ forwardShare: 0.25 });
  spend(100, 20, 'forward');
  assert.equal(granted.length, 15);
  spend(100, 20, 'upkeep');
  assert.equal(granted.length, 15 + 45);
  clock.advance(61_000);
  assert.equal(granted.length, 2 * (15 + 45));
  request(20, 'forward');
  assert.equal(granted.length, 2 * (15 + 45));
});

test('a 429 halves the rate and pauses; both recover', () => {
  const { clock, budget, granted, spend } = createFixture();
  assert.equal(budget.refused(clock.nowMs(), undefined), true);
  // In flight at the same time: the same reason, no second halving.
  assert.equal(budget.refused(clock.nowMs() - 5, undefined), false);
  assert.equal(budget.factor, 0.5);
  spend(1000, 20, 'upkeep');
  assert.equal(granted.length, 0);
  clock.advance(1_000);
  assert.equal(granted.length, 30);
  clock.advance(MINUTE_MS);
  assert.ok(budget.factor > 0.6 && budget.factor < 0.8, String(budget.factor));
  clock.advance(5 * MINUTE_MS);
  assert.equal(budget.factor, 1);
});

test('429 after 429 slows down to a trickle, and one answer does not end it', () => {
  const { clock, budget, granted, spend } = createFixture();
  for (let count = 0; count < 20; count++) {
    budget.refused(clock.nowMs(), undefined);
    clock.advance(MINUTE_MS / 60);
    clock.advance(MINUTE_MS);
  }
  assert.ok(budget.factor < 0.5, String(budget.factor));
  budget.answered(clock.nowMs());
  assert.ok(budget.factor < 0.5);
  spend(1000, 2, 'asked');
  assert.ok(granted.length > 0 && granted.length < 285, String(granted.length));
});

test("the upstream's Retry-After is kept", () => {
  const { clock, budget, granted, spend } = createFixture();
  budget.refused(clock.nowMs(), 30_000);
  spend(1, 2, 'asked');
  clock.advance(29_999);
  assert.equal(granted.length, 0);
  clock.advance(1);
  assert.equal(granted.length, 1);
});

test('a question that is heavier than the budget is refused, not queued for ever', () => {
  const { failures, request } = createFixture({ limit: 50 });
  request(60, 'asked');
  assert.equal(failures[0].kind, 'busy');
  assert.match(failures[0].message, /^a question of weight 60 is over the budget of 50 a minute$/);
});

test('a budget smaller than any share of it still sends one request at a time', () => {
  const { clock, granted, spend } = createFixture({ limit: 20 });
  spend(3, 20, 'sweep');
  assert.equal(granted.length, 1);
  clock.advance(2 * 61_000 + 61_000);
  assert.equal(granted.length, 3);
});

test('without a limit nothing waits', () => {
  const { granted, budget, spend } = createFixture({ limit: Number.POSITIVE_INFINITY });
  spend(10_000, 20, 'asked');
  spend(10_000, 20, 'sweep');
  assert.equal(granted.length, 20_000);
  assert.equal(budget.waitMs({ weight: 20, priority: 'asked' }), 0);
});

test('the wait that is told is the wait that follows', () => {
  const { clock, budget, granted, spend, request } = createFixture();
  spend(30, 20, 'upkeep');
  clock.advance(10_000);
  spend(30, 20, 'upkeep');
  assert.equal(budget.waitMs({ weight: 2, priority: 'upkeep' }), 50_500);
  const waitMs = budget.waitMs({ weight: 2, priority: 'asked' });
  const asked = request(2, 'asked');
  clock.advance(waitMs - 1);
  assert.equal(granted.length, 60);
  clock.advance(1);
  assert.equal(granted.at(-1), asked);
});

test('the number of requests in flight is limited, and a place is kept for clients', () => {
  const { granted, tickets, request } = createFixture({ inFlightMax: 8 });
  for (let count = 0; count < 20; count++) request(2, 'sweep');
  assert.equal(granted.length, 6);
  for (let count = 0; count < 20; count++) request(2, 'asked');
  assert.equal(granted.length, 7);
  tickets[0].end('arrived', 2);
  assert.equal(granted.length, 8);
  assert.equal(granted[7].priority, 'asked');
});

test('while the upstream is down only a probe is sent', () => {
  const { budget, granted, request } = createFixture();
  budget.hold();
  request(2, 'asked');
  const probe = request(2, 'probe');
  assert.deepEqual(granted, [probe]);
  budget.release();
  assert.equal(granted.length, 2);
});

test('what waits is bounded', () => {
  const { budget, failures, request } = createFixture();
  budget.hold();
  for (let count = 0; count < 10_001; count++) request(2, 'sweep');
  assert.deepEqual(
    failures.map(({ kind }) => kind),
    ['busy'],
  );
});

test('closing fails what waits and what comes, and leaves no timer', () => {
  const { clock, budget, failures, spend, request } = createFixture();
  spend(60, 20, 'upkeep');
  request(20, 'upkeep');
  assert.equal(clock.pendingTimers, 1);
  budget.close(new UpstreamError('closed', 'the test ends'));
  request(20, 'upkeep');
  assert.deepEqual(
    failures.map(({ kind }) => kind),
    ['closed', 'closed'],
  );
  assert.equal(clock.pendingTimers, 0);
});

/** A request as the property test makes it. */
interface Plan {
  readonly afterMs: number;
  readonly weight: number;
  readonly priority: Priority;
  /** From sending to the end of the response, or to our giving up. */
  readonly latencyMs: number;
  /** When in that time it arrives, from 0 to 1. */
  readonly arrival: number;
  readonly outcome: 'answered' | 'refused' | 'lost' | 'lostAndReadLater';
}

const PRIORITIES_SENT = ['asked', 'upkeep', 'trade', 'hour', 'sweep', 'forward'] as const;

const PLAN: fc.Arbitrary<Plan> = fc.record({
  afterMs: fc.oneof(fc.constant(0), fc.integer({ min: 0, max: 3_000 })),
  weight: fc.constantFrom(2, 2, 2, 20, 60),
  priority: fc.constantFrom(...PRIORITIES_SENT),
  latencyMs: fc.oneof(fc.integer({ min: 1, max: 300 }), fc.integer({ min: 1, max: 90_000 })),
  arrival: fc.double({ min: 0, max: 1, noNaN: true }),
  outcome: fc.oneof(
    { weight: 20, arbitrary: fc.constant('answered' as const) },
    { weight: 1, arbitrary: fc.constant('refused' as const) },
    { weight: 2, arbitrary: fc.constant('lost' as const) },
    { weight: 2, arbitrary: fc.constant('lostAndReadLater' as const) },
  ),
});

interface Counted {
  readonly atMs: number;
  readonly weight: number;
}

/** How long a server may hang and still read what was sent to it. */
const HANG_MS_MAX = 5 * MINUTE_MS;

/** The upstream, which counts a request when it arrives; one that hangs, when it goes on. */
class CountingServer {
  readonly counted: Counted[] = [];
  readonly #budget: UpstreamBudget;
  readonly #clock: ManualClock;
  #unread: Counted[] = [];

  constructor(budget: UpstreamBudget, clock: ManualClock) {
    this.#budget = budget;
    this.#clock = clock;
  }

  handle(plan: Plan, ticket: Ticket): void {
    const { weight, latencyMs, arrival, outcome } = plan;
    if (outcome === 'lostAndReadLater') {
      this.#unread.push({ atMs: this.#clock.nowMs() + latencyMs, weight });
    } else this.#clock.setTimer(arrival * latencyMs, () => this.#count(weight));
    this.#clock.setTimer(latencyMs, () => this.#end(plan, ticket));
  }

  #count(weight: number): void {
    this.counted.push({ atMs: this.#clock.nowMs(), weight });
  }

  #end({ weight, outcome }: Plan, ticket: Ticket): void {
    if (outcome === 'answered' || outcome === 'refused') {
      for (const unread of this.#unread.splice(0)) {
        if (this.#clock.nowMs() - unread.atMs < HANG_MS_MAX) this.#count(unread.weight);
      }
    }
    if (outcome === 'answered') this.#budget.answered(ticket.sentMs);
    if (outcome === 'refused') this.#budget.refused(ticket.sentMs, undefined);
    ticket.end(outcome.startsWith('lost') ? 'unknown' : 'arrived', weight);
  }

  /** The most that any window of a minute holds, both of its ends included. */
  get fullestWindow(): number {
    const sums = this.counted.map(({ atMs }) =>
      this.counted
        .filter((other) => other.atMs <= atMs && other.atMs >= atMs - MINUTE_MS)
        .reduce((sum, { weight }) => sum + weight, 0),
    );
    return Math.max(0, ...sums);
  }
}

/** Plays the requests, and returns what the upstream counted. */
function play(plans: readonly Plan[], limit: number): CountingServer {
  const { budget, clock } = createFixture({ limit, forwardShare: 0.25, inFlightMax: 32 });
  const server = new CountingServer(budget, clock);
  for (const plan of plans) {
    clock.advance(plan.afterMs);
    const { weight, priority } = plan;
    const granted = (ticket: Ticket) => server.handle(plan, ticket);
    budget.request({ weight, priority, granted, failed: () => undefined });
  }
  clock.advance(20 * MINUTE_MS);
  return server;
}

test(`no window of a minute, as the upstream counts, is ever over ${SEED_NOTE}`, ALSO_FULL, () => {
  const plans = fc.array(PLAN, { minLength: 50, maxLength: 400 });
  const property = fc.property(plans, fc.constantFrom(100, 300, 1200), (list, limit) => {
    const { fullestWindow } = play(list, limit);
    assert.ok(fullestWindow <= limit, `${fullestWindow} of ${limit}`);
  });
  fc.assert(property, runs(scale(150, 1500, 3000)));
});

test('the same check finds a request that leaves the window a minute after it was sent', () => {
  // Answered at once, but the first arrives after 30 s: a minute after sending it still counts.
  const clock = new ManualClock();
  const { budget } = createFixture({ clock });
  const server = new CountingServer(budget, clock);
  server.counted.push({ atMs: 30_000, weight: 1200 }, { atMs: 60_500, weight: 1200 });
  assert.equal(server.fullestWindow, 2400);
});

test('steady work uses most of the budget', () => {
  const { clock, granted, spend } = createFixture();
  spend(5000, 2, 'asked');
  clock.advance(5 * MINUTE_MS);
  // 1140 of 1200 are for clients, in windows of 60.5 s.
  assert.equal(granted.length * 2, 1140 * 5);
});
