/** Answers about the past take turns; long ones, which take megabytes, are written one after the other. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { PastAnswers, type PastReply } from '../../src/http/past-answers.ts';
import { headOfPost } from '../../src/http/request-head.ts';
import { Turns } from '../../src/http/turns.ts';
import { UnsentBytes } from '../../src/http/unsent-bytes.ts';
import type { HistoryAnswer, HistoryQuestion } from '../../src/info/history-question.ts';
import { RequestError } from '../../src/info/request-error.ts';
import { historyOf } from '../info/histories.ts';

const HEAD = headOfPost('');
const PRESENT = { height: 1, time: 1 };
const SLICE_MS = 0.25;
const LIMIT_BYTES = 256 << 20;

const ANSWER: Omit<HistoryAnswer, 'body'> = {
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
  ask(name: string, slices: number, isLong = true): HistoryQuestion {
    const { events } = this;
    return {
      type: name,
      weight: 20,
      isLong,
      findHeight: () => undefined,
      isFixedAt: () => true,
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
    ledgerId: () => history.ledgerId,
    turns: new Turns(),
    unsent,
    worked: () => undefined,
    failed: assert.ifError,
  });
  const answer = async (question: HistoryQuestion) => past.answer(question, HEAD, PRESENT);
  return { past, answer };
}

function bodyOf(reply: PastReply | RequestError): unknown {
  return reply instanceof RequestError ? reply.code : reply.body;
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
  const reply = past.answer(new Recorder().ask('a', 0), HEAD, PRESENT);
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
    answer(recorder.ask(String(index), 1, index % 2 === 0)),
  );
  assert.equal(bodyOf(await replies[256]), 'overloaded');
  const bodies = (await Promise.all(replies.slice(0, 256))).map(bodyOf);
  assert.deepEqual(bodies, [...Array(256).keys()].map(String));
});
