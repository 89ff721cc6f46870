/** Long answers are written in slices, each from one height, whatever blocks arrive meanwhile. */

import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { formatAddress } from '../../src/exact/address.ts';
import { Cancellation, CancelledAnswer } from '../../src/http/answering/cancellation.ts';
import { Turns } from '../../src/http/answering/limits/turns.ts';
import { UnsentBytes } from '../../src/http/answering/limits/unsent-bytes.ts';
import {
  isLong,
  type LongAnswer,
  LongAnswers,
  type LongOutcome,
  type LongQuestion,
  type LongRequester,
} from '../../src/http/answering/long-answers.ts';
import type { Question } from '../../src/info/question.ts';
import { parseQuestion } from '../../src/info/read-question.ts';
import { RequestError } from '../../src/info/request-error.ts';
import { AnswerWriter } from '../../src/info/writing/answer-writer.ts';
import { createSimulator } from '../../src/simulator/simulator.ts';
import type { StateView } from '../../src/state/state.ts';
import { LONG_ONLY } from '../scale.ts';

const ACCOUNTS = 1000;
const REQUESTER: LongRequester = {
  keyId: 'key',
  cancellation: new Cancellation(),
  pay: () => undefined,
};
/** Not a pause between two slices. */
const DEADLINE_MS = 30_000;
/** How long a block waits for the last attempt. */
const LAST_WAIT_MS = 250;
const ANSWERS = 12;

const simulator = createSimulator({ seed: 'long answers', accounts: ACCOUNTS });
while (!simulator.isSetUp) simulator.next();
const { state } = simulator;
const users = Array.from({ length: ACCOUNTS }, (_, index) =>
  formatAddress(state.addresses.addressOf(index + 1)),
);

function askFor(asked: readonly string[], dex = ''): Question & LongQuestion {
  const question = parseQuestion({ type: 'batchClearinghouseStates', users: asked, dex });
  assert.ok(isLong(question));
  return question;
}

function isWritten(outcome: LongOutcome): outcome is LongAnswer {
  return outcome !== undefined && 'bytes' in outcome;
}

function createLongAnswers(readState: () => StateView | undefined = () => state) {
  const slices: number[] = [];
  const turns = new Turns();
  const unsent = new UnsentBytes();
  const worked = (time: number) => slices.push(time);
  return { slices, turns, answers: new LongAnswers({ turns, unsent, readState, worked }) };
}

/** Blocks wait in vain for every attempt but the last one, however fast the machine is. */
function failFirstWaits(mock: TestContext['mock']): void {
  mock.method(globalThis, 'setTimeout', (wake: () => void, ms: number) => {
    if (ms < LAST_WAIT_MS) setImmediate(wake);
    return { unref: () => undefined };
  });
}

test('an answer is of one height, even if a block comes at every turn', async ({ mock }) => {
  failFirstWaits(mock);
  const question = askFor(users);
  const { answers, slices } = createLongAnswers();
  const texts = new Map([[state.height, question.answer(state)]]);
  const writing = Promise.all(
    Array.from({ length: ANSWERS }, () => answers.write(question, undefined, REQUESTER)),
  );
  await applyBlocks(writing, async () => {
    await answers.untilWritten();
    simulator.next();
    texts.set(state.height, question.answer(state));
  });
  const heights = new Set<number>();
  for (const answer of await writing) {
    assert.ok(isWritten(answer));
    assert.equal(answer.bytes.toString(), texts.get(answer.height));
    heights.add(answer.height);
  }
  assert.equal(heights.size, ANSWERS);
  assert.ok(slices.length > ANSWERS, `${slices.length} slices`);
});

/** Applies a block at every turn, until the answers are written. */
async function applyBlocks(writing: Promise<unknown>, apply: () => Promise<void>): Promise<void> {
  let isOver = false;
  void writing.then(() => {
    isOver = true;
  });
  while (!isOver) {
    await nextTurn();
    await apply();
  }
}

/** Most pieces that are written in a slice; to be read when the answer is complete. */
function watchSlices(turns: Turns, pieces: readonly unknown[]): { longest: number } {
  const watch = { longest: 0 };
  let before = 0;
  turns.answerFirst(() => {
    watch.longest = Math.max(watch.longest, pieces.length - before);
    before = pieces.length;
  });
  return watch;
}

/** Each look at the clock takes so long, so that slices are as long as it says, on any machine. */
function mockClock(mock: TestContext['mock'], lookMs: number): void {
  let nowMs = 0;
  mock.method(performance, 'now', () => (nowMs += lookMs));
}

/** An answer of 16 MiB, as of accounts with hundreds of positions, and the heights of the pieces written so far. */
function askNoting(): { question: LongQuestion; pieces: number[] } {
  const pieces: number[] = [];
  const question = Object.assign(askFor(users), {
    *writePieces(out: AnswerWriter, { height }: StateView) {
      for (let piece = 0; piece < 1024; piece++) {
        out.long('x'.repeat(16 << 10));
        pieces.push(height);
        yield 0;
      }
    },
  });
  return { question, pieces };
}

test('an answer that each block interrupts is refused in the end, and never written without a pause', async ({
  mock,
}) => {
  mockClock(mock, 0.1);
  const { answers, turns } = createLongAnswers();
  const { question, pieces } = askNoting();
  const slices = watchSlices(turns, pieces);
  const writing = answers.write(question, undefined, REQUESTER);
  await applyBlocks(writing, async () => void simulator.next());
  const outcome = await writing;
  assert.ok(outcome instanceof CancelledAnswer);
  assert.equal(outcome.workedOff(1000), 1000);
  assert.equal(outcome.refusal.code, 'overloaded');
  assert.equal(
    outcome.refusal.message,
    'users: new blocks have interrupted the answer 4 times, expected fewer users',
  );
  assert.equal(new Set(pieces).size, 4);
  assert.ok(slices.longest <= 3, `${slices.longest} pieces in a quarter of a millisecond`);
  // The next answer is written in the same way.
  assert.ok(isWritten(await answers.write(askFor(users), undefined, REQUESTER)));
});

test('while a block waits for the last attempt, slices are longer, but not long', async ({
  mock,
}) => {
  failFirstWaits(mock);
  mockClock(mock, 0.1);
  const { answers, turns } = createLongAnswers();
  const { question, pieces } = askNoting();
  const slices = watchSlices(turns, pieces);
  const writing = answers.write(question, undefined, REQUESTER);
  await applyBlocks(writing, async () => {
    await answers.untilWritten();
    simulator.next();
  });
  assert.ok(isWritten(await writing));
  assert.equal(new Set(pieces).size, 4);
  assert.ok(slices.longest > 15 && slices.longest <= 20, `${slices.longest} pieces in 2 ms`);
});

test('attempts that blocks have interrupted are free up to the weight, and charged beyond', async ({
  mock,
}) => {
  const { answers } = createLongAnswers();
  const { question, pieces } = askNoting();
  assert.equal(question.weight, 2000);
  // A look at the clock takes as long as work of weight 1,000. A slice has three looks, and two are counted.
  mockClock(mock, 25);
  const surcharges: number[] = [];
  const pay = (surcharge: number) => surcharges.push(surcharge);
  const writing = answers.write(question, undefined, { ...REQUESTER, pay });
  await applyBlocks(writing, async () => {
    if (pieces.length < 3) simulator.next();
  });
  assert.ok(isWritten(await writing));
  assert.deepEqual(new Set(pieces.slice(0, 3)).size, 3);
  assert.deepEqual(surcharges, [2000]);
});

test('blocks wait longer for an answer that they have spoiled three times', async ({ mock }) => {
  const waits: unknown[] = [];
  mock.method(globalThis, 'setTimeout', (_wake: () => void, ms: number) => {
    if (ms !== DEADLINE_MS) waits.push(ms);
    return { unref: () => undefined };
  });
  const { answers, slices } = createLongAnswers();
  const writing = answers.write(askNoting().question, undefined, REQUESTER);
  for (let attempt = 1; attempt <= 4; attempt++) {
    const before = slices.length;
    while (slices.length === before) await nextTurn();
    void answers.untilWritten();
    if (attempt < 4) simulator.next();
  }
  assert.deepEqual(waits, [25, 25, 25, 250]);
  assert.equal(((await writing) as LongAnswer).bytes.length, 16 << 20);
});

test('others get their turn while an answer is written', async () => {
  const { answers } = createLongAnswers();
  let turns = 0;
  let isOver = false;
  const writing = answers.write(
    askFor([...users, ...users].slice(0, ACCOUNTS)),
    undefined,
    REQUESTER,
  );
  void writing.then(() => {
    isOver = true;
  });
  while (!isOver) {
    await nextTurn();
    turns++;
  }
  assert.ok(turns > 1, `${turns} turns`);
});

test('requests that have been read are answered before each slice', async () => {
  const { answers, turns, slices } = createLongAnswers();
  const slicesBefore: number[] = [];
  turns.answerFirst(() => slicesBefore.push(slices.length));
  await answers.write(askFor(users), undefined, REQUESTER);
  assert.deepEqual(
    slicesBefore,
    slices.map((_, index) => index),
  );
});

test('a block that waits is applied after the answer that is being written, and before the next', async ({
  mock,
}) => {
  // However long an answer takes on a busy machine.
  mock.method(globalThis, 'setTimeout', () => ({ unref: () => undefined }));
  const { answers, slices } = createLongAnswers();
  const question = askFor(users);
  assert.equal(answers.untilWritten(), undefined);
  const writing = [0, 1, 2].map(() => answers.write(question, undefined, REQUESTER));
  assert.equal(answers.untilWritten(), undefined, 'none is begun yet');
  while (slices.length === 0) await nextTurn();
  const heightBefore = state.height;
  await answers.untilWritten();
  simulator.next();
  const written = await Promise.all(writing);
  const heights = written.map((answer) => (answer as LongAnswer).height);
  assert.deepEqual(heights, [heightBefore, state.height, state.height]);
  assert.equal(answers.untilWritten(), undefined);
});

test('who waits for an answer does so for a while at most', async () => {
  const { answers, turns, slices } = createLongAnswers();
  const writing = answers.write(askFor(users), undefined, REQUESTER);
  while (slices.length === 0) await nextTurn();
  // From here on no slice is done.
  const held: (() => void)[] = [];
  turns.answerFirst(() => undefined);
  turns.doLater = (slice) => setImmediate(() => held.push(slice));
  await answers.untilWritten();
  assert.ok(slices.length < 5, `${slices.length} slices`);
  turns.doLater = (slice) => setImmediate(slice);
  for (const slice of held) slice();
  await writing;
});

test('while others ask there is a pause between slices, else there is none', async ({ mock }) => {
  const pausing = mock.method(globalThis, 'setTimeout');
  const countPauses = async (answerRead: (turns: Turns) => void) => {
    const { answers, turns, slices } = createLongAnswers();
    pausing.mock.resetCalls();
    turns.answerFirst(() => answerRead(turns));
    await answers.write(askFor(users), undefined, REQUESTER);
    const pauses = pausing.mock.calls.filter(({ arguments: [, ms] }) => ms !== DEADLINE_MS);
    return { pauses: pauses.length, slices: slices.length };
  };
  const quiet = await countPauses(() => undefined);
  assert.ok(quiet.slices > 2);
  assert.equal(quiet.pauses, 0);
  const asked = await countPauses((turns) => turns.answeredCount++);
  assert.equal(asked.pauses, asked.slices - 1);
});

test('slices are longer while nobody else asks, and short again when somebody does', async ({
  mock,
}) => {
  mockClock(mock, 0.1);
  const { answers, turns, slices } = createLongAnswers();
  turns.answerFirst(() => {
    if (slices.length === 50) turns.answeredCount++;
  });
  const asked = Array.from({ length: 4 }, () => answers.write(askFor(users), undefined, REQUESTER));
  await Promise.all(asked);
  const isLonger = slices.map((seconds) => seconds > 0.001);
  const changes = isLonger.flatMap((each, index) => (each === isLonger[index - 1] ? [] : [index]));
  // From the fortieth on, until the one that follows the request.
  assert.deepEqual(changes.slice(0, 3), [0, 39, 51]);
  assert.equal(isLonger[0], false);
});

test('bytes are written over once they are released, and not before', async () => {
  const { answers } = createLongAnswers();
  const write = async (asked: readonly string[]) => {
    const answer = await answers.write(askFor(asked), undefined, REQUESTER);
    assert.ok(isWritten(answer));
    return answer;
  };
  const first = await write(users);
  const text = first.bytes.toString();
  const second = await write(users.toReversed());
  assert.equal(first.bytes.toString(), text);
  first.release(true);
  const third = await write(users.slice(1));
  assert.equal(third.bytes.buffer, first.bytes.buffer);
  assert.notEqual(third.bytes.buffer, second.bytes.buffer);
  assert.equal(third.bytes.toString(), askFor(users.slice(1)).answer(state));
});

test('no more than 256 answers wait, and then again', async () => {
  const { answers } = createLongAnswers();
  const few = askFor(users.slice(0, 200));
  assert.equal(answers.findShortage('key 1'), undefined);
  const writing = Array.from({ length: 256 }, (_, index) =>
    answers.write(few, undefined, { ...REQUESTER, keyId: `key ${index % 16}` }),
  );
  const shortage = answers.findShortage('another key');
  assert.deepEqual([shortage?.code, shortage?.retryAfterSeconds], ['overloaded', 1]);
  assert.match(String(shortage?.message), /^answers about many accounts: 256 are under way/);
  await Promise.all(writing);
  assert.equal(answers.findShortage('key 1'), undefined);
});

test(
  'answers are refused while 256 MiB of others are unsent, those that wait for their turn too',
  LONG_ONLY,
  async () => {
    const { answers } = createLongAnswers();
    const question = askFor(users);
    const unsent: LongAnswer[] = [];
    let refusal: RequestError | undefined;
    let unsentBytes = 0;
    while (refusal === undefined) {
      const [answer, next] = await Promise.all([
        answers.write(question, undefined, REQUESTER),
        answers.write(question, undefined, REQUESTER),
      ]);
      for (const each of [answer, next]) {
        if (each instanceof RequestError) {
          refusal = each;
          continue;
        }
        assert.ok(isWritten(each));
        unsentBytes += each.bytes.buffer.byteLength;
        unsent.push(each);
      }
    }
    assert.equal(refusal.code, 'overloaded');
    assert.equal(answers.findShortage('key')?.message, refusal.message);
    assert.ok(
      unsentBytes >= 256 << 20 && unsentBytes - unsent[0].bytes.buffer.byteLength < 256 << 20,
    );
    for (const { release } of unsent) release(false);
    assert.equal(answers.findShortage('key'), undefined);
  },
);

test('a question that is refused, or has no state to be answered from, says so', async () => {
  const refused = await createLongAnswers().answers.write(
    askFor(users, 'nope'),
    undefined,
    REQUESTER,
  );
  assert.ok(refused instanceof RequestError);
  assert.match(refused.message, /^dex: /);
  const { answers } = createLongAnswers(() => undefined);
  assert.equal(await answers.write(askFor(users), undefined, REQUESTER), undefined);
});

test('few accounts are no long answer', () => {
  const question = parseQuestion({ type: 'batchClearinghouseStates', users: users.slice(0, 20) });
  assert.equal(isLong(question), false);
});

test('between two pauses are few accounts, on one dex and on all', () => {
  const dexes = state.markets.dexes.length;
  assert.ok(dexes > 1);
  for (const [asked, dex, most] of [
    [users, '', 32],
    [users.slice(0, 100), 'ALL_DEXES', 32 + dexes - 1],
  ] as const) {
    const out = new AnswerWriter();
    const pieces = askFor(asked, dex).writePieces(out, state);
    let accounts = 0;
    for (let isOver = false; !isOver; ) {
      const start = out.length;
      isOver = pieces.next().done === true;
      const piece = out.bytesFrom(0).toString('latin1', start);
      const written = piece.split('"crossMarginSummary"').length - 1;
      assert.ok(written <= most, `${written} accounts on ${dex}`);
      accounts += written;
    }
    assert.equal(accounts, asked.length * (dex === '' ? 1 : dexes));
  }
});

test('an answer that is given up is written no further, and its bytes serve the next', async () => {
  const { answers, slices } = createLongAnswers();
  const cancellation = new Cancellation();
  const given = [askNoting().question, askFor(users)].map((question) =>
    answers.write(question, undefined, { ...REQUESTER, cancellation }),
  );
  const next = answers.write(askFor(users), undefined, REQUESTER);
  while (slices.length === 0) await nextTurn();
  const block = answers.untilWritten();
  cancellation.cancel(new RequestError('not_ready', 'stopping'));
  const outcomes = await Promise.all(given);
  assert.ok(outcomes.every((outcome) => outcome instanceof CancelledAnswer));
  // A block that has waited for it does not wait any longer.
  await block;
  const answer = await next;
  assert.ok(isWritten(answer));
  assert.equal(answer.bytes.toString(), askFor(users).answer(state));
  const late = await answers.write(askFor(users), undefined, { ...REQUESTER, cancellation });
  assert.ok(late instanceof CancelledAnswer);
  assert.equal(late.workedOff(2000), 0);
});

test('after an answer to one key the next is to another, and each has a part of the places', async () => {
  const { answers } = createLongAnswers();
  const few = askFor(users.slice(0, 40));
  const order: string[] = [];
  const write = async (keyId: string) => {
    await answers.write(few, undefined, { ...REQUESTER, keyId });
    order.push(keyId);
  };
  const greedy = Array.from({ length: 32 }, () => write('greedy'));
  const shortage = answers.findShortage('greedy');
  assert.deepEqual([shortage?.code, shortage?.retryAfterSeconds], ['rate_limited', 1]);
  assert.match(
    String(shortage?.message),
    /^answers about many accounts: this key has 32 under way/,
  );
  assert.equal(answers.findShortage('modest'), undefined);
  await write('modest');
  assert.deepEqual(order.slice(0, 2), ['greedy', 'modest']);
  await Promise.all(greedy);
  assert.equal(answers.findShortage('greedy'), undefined);
});
