/** Answers about the past take turns; long ones, which take megabytes, are written one after the other. */

import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { Cancellation, CancelledAnswer } from '../../src/http/answering/cancellation.ts';
import { Turns } from '../../src/http/answering/limits/turns.ts';
import { UnsentBytes } from '../../src/http/answering/limits/unsent-bytes.ts';
import {
  PastAnswers,
  type PastOutcome,
  type PayingRequester,
} from '../../src/http/answering/past-answers.ts';
import { headOfPost } from '../../src/http/answering/question-head.ts';
import type { ArchiveAnswer } from '../../src/info/archive/archive-answer.ts';
import type { ArchiveQuestion } from '../../src/info/question.ts';
import { RequestError } from '../../src/info/request-error.ts';
import { exchange } from '../../tools/harness/raw-client.ts';
import { formatQuestion, prepareData } from '../../tools/harness/service.ts';
import { historyOf } from '../info/histories.ts';
import { TIME } from '../info/states.ts';
import { createInProcess, listenLocally, openGround } from './in-process.ts';

const HEAD = headOfPost('');
const PRESENT = { height: 1, time: 1 };
const SLICE_MS = 0.25;
const LIMIT_BYTES = 256 << 20;

const ANSWER: Omit<ArchiveAnswer, 'body'> = {
  format: 'json',
  height: 1,
  time: 1,
  isFixed: true,
  accountTime: -1,
};

/** Notes when each question is begun and ended. */
class Recorder {
  readonly events: string[] = [];

  /** Takes so many slices of time. */
  ask(name: string, slices: number, isLong = true): ArchiveQuestion {
    const { events } = this;
    return {
      source: 'archive',
      type: name,
      weight: 20,
      isLong,
      findHeight: () => undefined,
      isFixedAt: () => true,
      isUntilNow: () => false,
      *answer() {
        events.push(`begin ${name}`);
        for (let slice = 0; slice < slices; slice++) {
          const endMs = performance.now() + SLICE_MS;
          while (performance.now() < endMs);
          yield 0;
        }
        events.push(`end ${name}`);
        return { ...ANSWER, body: name };
      },
    };
  }
}

function createPast(unsent = new UnsentBytes()) {
  const history = historyOf([1]);
  const past = new PastAnswers({
    source: { isKept: true, find: () => history },
    findLag: () => undefined,
    ledgerId: () => history.ledgerId,
    turns: new Turns(),
    unsent,
    worked: () => undefined,
    failed: assert.ifError,
  });
  const answer = async (
    question: ArchiveQuestion,
    keyId = 'key',
    cancellation = new Cancellation(),
    pay: PayingRequester['pay'] = () => undefined,
  ): Promise<PastOutcome> => past.answer(question, HEAD, PRESENT, { keyId, cancellation, pay });
  return { past, answer };
}

function bodyOf(outcome: PastOutcome): unknown {
  if (outcome instanceof CancelledAnswer) return 'abandoned';
  return outcome instanceof RequestError ? outcome.code : outcome.body;
}

test('long answers are written one after the other, in the order of their questions', async () => {
  const { answer } = createPast();
  const recorder = new Recorder();
  const names = ['a', 'b', 'c', 'd'];
  const replies = await Promise.all(names.map((name) => answer(recorder.ask(name, 3))));
  assert.deepEqual(replies.map(bodyOf), names);
  assert.deepEqual(
    recorder.events,
    names.flatMap((name) => [`begin ${name}`, `end ${name}`]),
  );
  // And once more, now that none is under way.
  assert.equal(bodyOf(await answer(recorder.ask('e', 3))), 'e');
});

test('short answers take turns with a long one, and do not wait for its end', async () => {
  const { answer } = createPast();
  const recorder = new Recorder();
  await Promise.all([
    answer(recorder.ask('long', 20)),
    answer(recorder.ask('next', 1)),
    answer(recorder.ask('short', 2, false)),
  ]);
  assert.deepEqual(recorder.events, [
    ...['begin long', 'begin short', 'end short', 'end long'],
    ...['begin next', 'end next'],
  ]);
});

test('a long answer is never ready at once: its bytes are sent apart from other responses', () => {
  const { past } = createPast();
  const asker = { keyId: 'key', cancellation: new Cancellation(), pay: () => undefined };
  const reply = past.answer(new Recorder().ask('a', 0), HEAD, PRESENT, asker);
  assert.ok(reply instanceof Promise);
});

test('while too much is unread, long answers are refused when their turn comes, and others are not', async () => {
  const unsent = new UnsentBytes();
  const { answer } = createPast(unsent);
  const recorder = new Recorder();
  const replies = ['a', 'b', 'c'].map((name) => answer(recorder.ask(name, 3)));
  const body = { buffer: { byteLength: LIMIT_BYTES } } as Buffer;
  const noteSent = unsent.add(body);
  assert.deepEqual((await Promise.all(replies)).map(bodyOf), ['a', 'overloaded', 'overloaded']);
  assert.equal(bodyOf(await answer(recorder.ask('short', 3, false))), 'short');
  noteSent();
  assert.equal(bodyOf(await answer(recorder.ask('d', 3))), 'd');
});

test('no more than 256 are under way or wait', async () => {
  const { answer } = createPast();
  const recorder = new Recorder();
  const replies = Array.from({ length: 257 }, (_, index) =>
    answer(recorder.ask(String(index), 1, index % 2 === 0), `key ${index % 16}`),
  );
  assert.equal(bodyOf(await replies[256]), 'overloaded');
  const bodies = (await Promise.all(replies.slice(0, 256))).map(bodyOf);
  assert.deepEqual(bodies, [...Array(256).keys()].map(String));
});

test('what is given up takes no further step, leaves its place, and is charged for its work', async () => {
  const { answer } = createPast();
  const recorder = new Recorder();
  const [first, second] = [new Cancellation(), new Cancellation()];
  const replies = [
    answer(recorder.ask('a', 1000), 'key', first),
    answer(recorder.ask('b', 1000), 'key', second),
    answer(recorder.ask('c', 1), 'key'),
  ];
  while (recorder.events.length === 0) await nextTurn();
  const refusal = new RequestError('not_ready', 'stopping');
  second.cancel(refusal);
  first.cancel(refusal);
  const [a, b, c] = await Promise.all(replies);
  assert.ok(a instanceof CancelledAnswer && b instanceof CancelledAnswer);
  assert.deepEqual([a.refusal, b.refusal], [refusal, refusal]);
  assert.ok(a.workedOff(1_000_000) > 0);
  assert.equal(b.workedOff(1_000_000), 0);
  assert.equal(bodyOf(c), 'c');
  assert.deepEqual(recorder.events, ['begin a', 'begin c', 'end c']);
  assert.equal(bodyOf(await answer(recorder.ask('d', 2), 'key', first)), 'abandoned');
});

test('an answer that is not ready after thirty seconds is given up', async ({ mock }) => {
  const deadlines: (() => void)[] = [];
  mock.method(globalThis, 'setTimeout', (late: () => void, ms: number) => {
    assert.equal(ms, 30_000);
    deadlines.push(late);
    return { unref: () => undefined };
  });
  const { answer } = createPast();
  const recorder = new Recorder();
  const reply = answer(recorder.ask('a', 1000));
  while (recorder.events.length === 0) await nextTurn();
  for (const late of deadlines) late();
  const outcome = await reply;
  assert.ok(outcome instanceof CancelledAnswer);
  assert.equal(outcome.refusal.code, 'overloaded');
  assert.match(outcome.refusal.message, /not ready after 30 s/);
  assert.deepEqual(recorder.events, ['begin a']);
});

test('keys have their turns one after the other, however much each asks', async () => {
  const { answer } = createPast();
  const recorder = new Recorder();
  const many = Array.from({ length: 20 }, (_, index) =>
    answer(recorder.ask(`many ${index}`, 20, false), 'greedy'),
  );
  const few = ['short', 'long'].map((name) =>
    answer(recorder.ask(name, 3, name === 'long'), 'modest'),
  );
  const long = answer(recorder.ask('other long', 3, true), 'greedy');
  await Promise.all(few);
  assert.equal(recorder.events.filter((event) => event.startsWith('end many')).length, 0);
  await Promise.all([...many, long]);
});

test('four keys have a long answer written at the same time, each one; a fifth waits', async () => {
  const { answer } = createPast();
  const recorder = new Recorder();
  const keys = ['a', 'a', 'b', 'c', 'd', 'e'];
  await Promise.all(keys.map((key, index) => answer(recorder.ask(`${key}${index}`, 10), key)));
  const begun = recorder.events.slice(0, 4);
  assert.deepEqual(begun, ['begin a0', 'begin b2', 'begin c3', 'begin d4']);
  const [firstEnd] = recorder.events.flatMap((event, index) =>
    event.startsWith('end') ? [index] : [],
  );
  assert.equal(firstEnd, 4);
});

test('a key that has all its places is refused, and another gets one', async () => {
  const { answer } = createPast();
  const recorder = new Recorder();
  const held = Array.from({ length: 32 }, (_, index) =>
    answer(recorder.ask(`held ${index}`, 2, index % 2 === 0), 'greedy'),
  );
  const refused = await answer(recorder.ask('refused', 2), 'greedy');
  assert.ok(refused instanceof RequestError);
  assert.deepEqual([refused.code, refused.retryAfterSeconds], ['rate_limited', 1]);
  assert.match(refused.message, /^answers about the past: this key has 32 under way, the limit/);
  assert.equal(bodyOf(await answer(recorder.ask('modest', 2), 'modest')), 'modest');
  await Promise.all(held);
  assert.equal(bodyOf(await answer(recorder.ask('again', 2), 'greedy')), 'again');
});

test('what a step adds to the weight is paid before the next one, and what cannot be paid ends the work', async () => {
  const { answer } = createPast();
  const events: unknown[] = [];
  const question: ArchiveQuestion = {
    ...new Recorder().ask('a', 0, false),
    *answer() {
      try {
        for (const surcharge of [0, 1.5, 0, 2, 3, 4]) {
          events.push(`step ${surcharge}`);
          yield surcharge;
        }
        return { ...ANSWER, body: 'a' };
      } finally {
        events.push('released');
      }
    },
  };
  const shortage = new RequestError('rate_limited', 'budget: nothing is left');
  const pay = (surcharge: number) => {
    events.push(surcharge);
    return surcharge === 3 ? shortage : undefined;
  };
  const outcome = await answer(question, 'key', new Cancellation(), pay);
  assert.equal(outcome, shortage);
  const paid = ['step 1.5', 1.5, 'step 0', 'step 2', 2, 'step 3', 3];
  assert.deepEqual(events, ['step 0', ...paid, 'released']);
});

const USER = `0x${'a'.repeat(40)}`;
const TIMES = [TIME, TIME + 1000, TIME + 2000];

/** A service with an archive of these times. */
async function startWithArchive(context: TestContext) {
  const closers: (() => Promise<void> | void)[] = [];
  context.after(async () => {
    for (const close of closers.reverse()) await close();
  });
  const { folder, key } = await prepareData({ after: (remove) => closers.push(remove) });
  const ground = await openGround(folder);
  closers.push(() => ground.close());
  await ground.live.restored;
  const history = historyOf(TIMES, { ledgerId: ground.live.state?.ledgerId ?? '' });
  const settings = { refuseStale: true };
  const service = createInProcess(ground, {
    history: { isKept: true, find: () => history },
    settings,
  });
  closers.push(service.close);
  const port = await listenLocally(service.server);
  const ask = async (question: object) => {
    const reply = await exchange(port, formatQuestion(key, { body: JSON.stringify(question) }));
    const { code, message } = JSON.parse(reply.body);
    return reply.status === 200 ? 'answered' : [reply.status, code, message];
  };
  return { live: ground.live, ask };
}

const CUT_OFF = { status: 'cut_off', message: 'not known to be up to date' } as const;
const STALE = { status: 'stale', message: 'the newest block is old' } as const;

/** Questions whose answers include the newest blocks, and questions whose answers do not. */
const UNTIL_NOW = [
  { type: 'portfolio', user: USER },
  { type: 'accountHistory', user: USER, step: 1000 },
  { type: 'accountHistory', user: USER, step: 1000, to: TIME + 2000 },
  { type: 'liquidationHistory', user: USER, from: TIME, to: TIME + 99_999 },
  { type: 'liquidationHistory', user: USER },
];
const UNTIL_THEN = [
  { type: 'portfolio', user: USER, atHeight: 3 },
  { type: 'accountHistory', user: USER, step: 1000, to: TIME + 1999 },
  { type: 'accountHistory', user: USER, step: 1000, atTime: TIME + 2000 },
  { type: 'clearinghouseState', user: USER, atHeight: 3 },
  { type: 'clearinghouseState', user: USER, atTime: TIME + 2000 },
];

for (const [what, method, fault] of [
  ['cut off', 'findCutOff', CUT_OFF],
  ['stale', 'findStaleness', STALE],
] as const) {
  test(`a replica that is ${what} gives no answer that ends now, and gives those that end in the past`, async (context) => {
    const { live, ask } = await startWithArchive(context);
    for (const question of [...UNTIL_NOW, ...UNTIL_THEN]) {
      assert.equal(await ask(question), 'answered', JSON.stringify(question));
    }
    context.mock.method(live, method, () => fault);
    for (const question of UNTIL_NOW) {
      const refusal = [503, 'behind', fault.message];
      assert.deepEqual(await ask(question), refusal, JSON.stringify(question));
    }
    for (const question of UNTIL_THEN) {
      assert.equal(await ask(question), 'answered', JSON.stringify(question));
    }
  });
}
