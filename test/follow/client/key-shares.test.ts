/** Keys share what is asked of the upstream: one that asks for a thousand accounts delays itself only. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import {
  type Ticket,
  UpstreamBudget,
  type WaitingRequest,
} from '../../../src/upstream/client/limits/upstream-budget.ts';
import { runs, SEED_NOTE } from '../../../tools/harness/seed.ts';
import { ManualClock } from '../manual-clock.ts';

const LIMIT = 1_200;

interface Asked extends WaitingRequest {
  keyIds: readonly string[];
}

function createFixture({ inFlightMax = 1_000, limit = LIMIT } = {}) {
  const clock = new ManualClock();
  const budget = new UpstreamBudget({ limit, forwardShare: 0, inFlightMax, clock });
  const granted: Asked[] = [];
  const tickets: Ticket[] = [];
  const failures: string[] = [];
  const request = (key: string, weight = 2) => {
    const asked: Asked = {
      weight,
      priority: 'asked',
      keyIds: [key],
      granted(ticket) {
        granted.push(asked);
        tickets.push(ticket);
      },
      failed: ({ message }) => failures.push(message),
    };
    budget.request(asked);
    return asked;
  };
  /** The oldest request in flight ends, which lets the next one go. */
  const endOne = () => {
    const index = granted.length - tickets.length;
    tickets.shift()?.end('arrived', granted[index].weight);
  };
  const keys = () => granted.map(({ keyIds }) => keyIds[0]);
  return { clock, budget, granted, failures, tickets, request, endOne, keys };
}

test("a second key's single account is read next, however many the first one waits for", () => {
  const { request, endOne, keys } = createFixture({ inFlightMax: 2 });
  for (let count = 0; count < 400; count++) request('many');
  request('one');
  endOne();
  endOne();
  assert.deepEqual(keys(), ['many', 'one', 'many']);
});

test('a key that asks for all of a minute leaves weight to the next one, and that one to the third', () => {
  const { clock, budget, request, endOne, keys, tickets, failures } = createFixture();
  const askAll = (key: string) => {
    for (let count = 0; count < 490; count++) request(key);
    return keys().filter((granted) => granted === key).length * 2;
  };
  // Clients may use 95 % of the limit, and a key three quarters of what the others leave.
  assert.deepEqual(['one', 'two', 'three'].map(askAll), [854, 214, 54]);
  const wanted = { weight: 2, priority: 'asked' } as const;
  assert.equal(budget.waitMs({ ...wanted, keyIds: ['four'] }), 0);
  while (tickets.length > 0) endOne();
  assert.equal(budget.waitMs({ ...wanted, keyIds: ['one'] }), 60_500);
  assert.equal(budget.keyWaitMs({ ...wanted, keyIds: ['one'] }), 60_500);
  // What it has to wait for itself, it does not take from others.
  request('four');
  assert.equal(keys().at(-1), 'four');
  clock.advance(61_000);
  assert.equal(failures.length, 0);
  assert.ok(keys().length > 1_122 / 2 + 400);
});

test('500 questions of a key wait, and further ones are refused with the reason', () => {
  const { request, failures, granted } = createFixture({ inFlightMax: 1 });
  for (let count = 0; count < 502; count++) request('many');
  assert.deepEqual(failures, ['500 questions of this key wait already']);
  request('one');
  assert.equal(failures.length, 1);
  assert.equal(granted.length, 1);
});

test('what another key waits for as well has the earlier turn of both', () => {
  const { budget, request, endOne, granted } = createFixture({ inFlightMax: 1 });
  const waiting = Array.from({ length: 100 }, () => request('many'));
  const joined = waiting[90];
  joined.keyIds = ['many', 'one'];
  budget.joined(joined);
  endOne();
  assert.equal(granted[1], joined);
  for (let count = 0; count < 5; count++) endOne();
  assert.deepEqual(granted.slice(2), waiting.slice(1, 6));
});

test(`keys that wait are given the same weight, whatever they ask for and when ${SEED_NOTE}`, () => {
  const key = fc.constantFrom('one', 'two', 'three', 'four');
  const asked = fc.tuple(key, fc.constantFrom(2, 20, 60, 120));
  fc.assert(
    fc.property(fc.array(asked, { minLength: 30, maxLength: 200 }), (all) => {
      const { request, endOne, granted } = createFixture({ inFlightMax: 1, limit: 1e9 });
      for (const [name, weight] of all) request(name, weight);
      const left = new Map<string, number>();
      for (const [name] of all) left.set(name, (left.get(name) ?? 0) + 1);
      const given = new Map([...left.keys()].map((name) => [name, 0]));
      for (let turn = 0; turn < all.length; turn++) {
        const { keyIds, weight } = granted[turn];
        const [name] = keyIds;
        // Those who have waited since the first turn, and wait still.
        const waiting = [...left.keys()].filter((other) => (left.get(other) ?? 0) > 0);
        const least = Math.min(...waiting.map((other) => given.get(other) ?? 0));
        assert.ok((given.get(name) ?? 0) <= least + 120, `turn ${turn}`);
        given.set(name, (given.get(name) ?? 0) + weight);
        left.set(name, (left.get(name) ?? 0) - 1);
        endOne();
      }
      assert.equal(granted.length, all.length);
    }),
    runs(100),
  );
});
