/** What every channel of the port does: the same tests in one process, over a socket, and on NATS. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import type { QuestionBody } from '../../../src/info/question.ts';
import type {
  FollowedItem,
  FollowerClient,
  FollowerHandler,
  FollowStatus,
  ForwardOutcome,
  Interest,
  ItemOutcome,
} from '../../../src/upstream/channel/follower-client.ts';

/** The ids of two keys. */
export const KEY = '4f1d22a0c9';
const OTHER_KEY = '9c0a22d1f4';
export const ALICE = '0xa11ce00000000000000000000000000000000001';
const ACCOUNT: FollowedItem = { kind: 'account', user: ALICE, dex: '' };
const DELEGATIONS: FollowedItem = { kind: 'delegations', user: ALICE };

export const STATUS: FollowStatus = {
  upstream: 'https://exchange.example',
  isHealthy: true,
  reason: '',
  ages: {
    marks: 120,
    otherMarks: 61_000,
    markets: 30_000,
    stream: 5,
    accountsMedian: null,
    accountsMax: null,
  },
  followed: 3,
  budget: { limit: 1200, left: 1100 },
  leftOut: { count: 2, named: [{ subscription: 'trades ABC', reason: 'closed with 1006' }] },
  counters: { mismatches: { withdrawable: 2 }, surprises: {} },
};

/** With a space that JSON.stringify would not write. */
const ANSWERED: ForwardOutcome = {
  outcome: 'answered',
  bytes: Buffer.from('[ {"coin":"BTC"}]'),
  rows: 1,
};

/** A follower whose outcomes a test decides, and that notes what it was asked. */
export class StubHandler implements FollowerHandler {
  readonly wants: { item: FollowedItem; maxAgeMs: number; keyId: string }[] = [];
  readonly interests: Interest[] = [];
  readonly forwarded: { question: QuestionBody; keyId: string }[] = [];
  outcome: (item: FollowedItem) => Promise<ItemOutcome> = async () => ({
    outcome: 'recorded',
    height: 7,
  });

  readItem(item: FollowedItem, maxAgeMs: number, keyId: string): Promise<ItemOutcome> {
    this.wants.push({ item, maxAgeMs, keyId });
    return this.outcome(item);
  }

  noteInterest(interests: readonly Interest[]): void {
    this.interests.push(...interests);
  }

  forwardOutcome: ForwardOutcome = ANSWERED;

  async forward(question: QuestionBody, keyId: string): Promise<ForwardOutcome> {
    this.forwarded.push({ question, keyId });
    return this.forwardOutcome;
  }

  status(): FollowStatus {
    return STATUS;
  }
}

/** Connects a client to a handler for the time of one test. */
export type ConnectPort = (
  handler: FollowerHandler,
  work: (client: FollowerClient) => Promise<void>,
) => Promise<void>;

export function describePort(name: string, connect: ConnectPort): void {
  test(`${name}: an item that is wanted reaches the follower with its age and the id of the key, and the outcome comes back`, async () => {
    const handler = new StubHandler();
    await connect(handler, async (client) => {
      assert.deepEqual(await client.readItem(ACCOUNT, 500, KEY), {
        outcome: 'recorded',
        height: 7,
      });
      await client.readItem(DELEGATIONS, Number.POSITIVE_INFINITY, OTHER_KEY);
      assert.deepEqual(handler.wants, [
        { item: ACCOUNT, maxAgeMs: 500, keyId: KEY },
        { item: DELEGATIONS, maxAgeMs: Number.POSITIVE_INFINITY, keyId: OTHER_KEY },
      ]);
    });
  });

  const OUTCOMES: readonly ItemOutcome[] = [
    { outcome: 'upstream', answer: '{"time":5,"note":"line\\nbreak"}', time: 5 },
    { outcome: 'failed', reason: 'the exchange answered 500', isSent: true },
    { outcome: 'busy', reason: 'the budget is spent', retryAfterSeconds: 12 },
  ];
  for (const [index, outcome] of OUTCOMES.entries()) {
    test(`${name}: the outcome "${outcome.outcome}" (${index + 1}) arrives unchanged`, async () => {
      const handler = new StubHandler();
      handler.outcome = async () => outcome;
      await connect(handler, async (client) => {
        assert.deepEqual(await client.readItem(ACCOUNT, 0, KEY), outcome);
      });
    });
  }

  test(`${name}: a follower that throws is a failed want`, async () => {
    const handler = new StubHandler();
    handler.outcome = () => Promise.reject(new Error('a bug'));
    await connect(handler, async (client) => {
      const reason = 'the follower failed: a bug';
      assert.deepEqual(await client.readItem(ACCOUNT, 0, KEY), { outcome: 'failed', reason });
    });
  });

  test(`${name}: identical wants of a key in flight are one, unless the age allows less`, async () => {
    const handler = new StubHandler();
    let finish: (outcome: ItemOutcome) => void = () => undefined;
    const outcome = new Promise<ItemOutcome>((resolve) => {
      finish = resolve;
    });
    handler.outcome = () => outcome;
    await connect(handler, async (client) => {
      const wants = Array.from({ length: 5 }, () => client.readItem(ACCOUNT, 60_000, KEY));
      wants.push(client.readItem(ACCOUNT, 1, KEY));
      await sleep(5);
      wants.push(client.readItem(ACCOUNT, 1, KEY));
      wants.push(client.readItem(ACCOUNT, 60_000, OTHER_KEY));
      await until(() => handler.wants.length === 4);
      finish({ outcome: 'recorded', height: 9 });
      for (const want of wants) assert.deepEqual(await want, { outcome: 'recorded', height: 9 });
      assert.equal(handler.wants.length, 4);
    });
  });

  test(`${name}: outcomes come back to those who want them, in whatever order`, async () => {
    const handler = new StubHandler();
    handler.outcome = async (item) => {
      const number = Number(item.user.slice(2));
      await sleep(20 - number);
      return { outcome: 'recorded', height: number };
    };
    await connect(handler, async (client) => {
      const users = Array.from({ length: 20 }, (_, index) => String(index + 1).padStart(40, '0'));
      const wants = users.map((user) =>
        client.readItem({ kind: 'account', user: `0x${user}`, dex: 'xyz' }, 0, KEY),
      );
      const heights = (await Promise.all(wants)).map((outcome) =>
        outcome.outcome === 'recorded' ? outcome.height : undefined,
      );
      assert.deepEqual(heights, users.map(Number));
    });
  });

  test(`${name}: interest arrives counted by key`, async () => {
    const handler = new StubHandler();
    await connect(handler, async (client) => {
      for (let asked = 0; asked < 3; asked++) client.noteInterest(ACCOUNT, KEY);
      client.noteInterest(ACCOUNT, OTHER_KEY);
      client.noteInterest(DELEGATIONS, KEY);
      // Interest is no reason to wait: one that was noted before the connection stands may be lost.
      await client.readItem(ACCOUNT, 0, KEY);
      await until(() => handler.interests.length === 3);
      assert.deepEqual(handler.interests, [
        { item: ACCOUNT, count: 3, keyId: KEY },
        { item: ACCOUNT, count: 1, keyId: OTHER_KEY },
        { item: DELEGATIONS, count: 1, keyId: KEY },
      ]);
    });
  });

  test(`${name}: a forwarded question reaches the follower, and its answer comes back`, async () => {
    const handler = new StubHandler();
    await connect(handler, async (client) => {
      const question = { type: 'userFills', user: ALICE };
      assert.deepEqual(await client.forward(question, KEY), ANSWERED);
      assert.deepEqual(handler.forwarded, [{ question, keyId: KEY }]);
    });
  });

  const MISHAPS: readonly ForwardOutcome[] = [
    { outcome: 'refused', reason: 'status 422: what?', isSent: true },
    { outcome: 'refused', reason: 'coin: what?', field: 'coin', isSent: true },
    {
      outcome: 'refused',
      reason: 'type: what?',
      field: 'type',
      code: 'unknown_type',
      isSent: true,
    },
    { outcome: 'refused', reason: 'an unknown type' },
    { outcome: 'refused', reason: 'coin: got "NOPE"', field: 'coin' },
    { outcome: 'failed', reason: 'status 500: null', isSent: true },
    { outcome: 'busy', reason: 'status 429', retryAfterSeconds: 2, isSent: true },
    { outcome: 'busy', reason: 'the budget is spent', retryAfterSeconds: 12 },
  ];
  test(`${name}: a forwarded question that has no answer says why`, async () => {
    const handler = new StubHandler();
    await connect(handler, async (client) => {
      for (const mishap of MISHAPS) {
        handler.forwardOutcome = mishap;
        assert.deepEqual(await client.forward({ type: 'userFills' }, KEY), mishap);
      }
    });
  });

  test(`${name}: a long answer of the exchange arrives byte for byte, and nobody parses it`, async (t) => {
    const handler = new StubHandler();
    const bytes = longAnswer();
    handler.forwardOutcome = { outcome: 'answered', bytes, rows: 3 };
    await connect(handler, async (client) => {
      const parse = t.mock.method(JSON, 'parse');
      const stringify = t.mock.method(JSON, 'stringify');
      const ask = () => client.forward({ type: 'userFills' }, KEY);
      const outcomes = await Promise.all([ask(), ask(), client.readItem(ACCOUNT, 0, KEY), ask()]);
      assert.deepEqual(outcomes.splice(2, 1), [{ outcome: 'recorded', height: 7 }]);
      for (const outcome of outcomes) {
        assert.ok(outcome.outcome === 'answered' && outcome.rows === 3);
        assert.ok(outcome.bytes.equals(bytes));
      }
      const lengths = [
        ...parse.mock.calls.map((call) => String(call.arguments[0]).length),
        ...stringify.mock.calls.map((call) => call.result?.length ?? 0),
      ];
      assert.ok(Math.max(...lengths) < 2_000, `${Math.max(...lengths)} characters`);
    });
  });

  test(`${name}: the follower's report is seen by clients`, async () => {
    await connect(new StubHandler(), async (client) => {
      await until(() => client.status() !== undefined);
      assert.deepEqual(client.status(), STATUS);
    });
  });
}

/** As long as an exchange's longest, of all bytes that there are: it is not even JSON. */
function longAnswer(): Buffer {
  const bytes = Buffer.alloc(7_800_000);
  for (let at = 0; at < bytes.length; at++) bytes[at] = (at * 31 + (at >> 8)) & 0xff;
  return bytes;
}

export async function until(condition: () => boolean): Promise<void> {
  const deadlineMs = performance.now() + 10_000;
  while (!condition()) {
    if (performance.now() > deadlineMs) assert.fail(`still waiting for ${condition}`);
    await sleep(5);
  }
}
