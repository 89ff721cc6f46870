/** The states of a connection on the fast lane: what can follow what, and what a long body changes. */

import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { Answers } from '../../src/http/answering/answers.ts';
import type { Reply } from '../../src/http/message/reply.ts';
import type { ClientConnection } from '../../src/http/transport/connections/client-connection.ts';
import {
  LaneConnection,
  type LaneReader,
  type LaneState,
} from '../../src/http/transport/lane/lane-connection.ts';
import { formatQuestion } from '../../tools/harness/service.ts';
import { compare, openBothLanes } from './both-lanes.ts';
import { MemorySocket } from './memory-socket.ts';

type Transition = (connection: LaneConnection) => void;

const TRANSITIONS: Readonly<Record<string, Transition>> = {
  enterTurn: (connection) => connection.enterTurn(),
  leaveTurn: (connection) => connection.leaveTurn(),
  hold: (connection) => connection.hold(),
  awaitReply: (connection) => connection.awaitReply(),
  startSending: (connection) => connection.startSending(),
  finishReply: (connection) => connection.finishReply(),
  startEnding: (connection) => connection.startEnding(),
  leave: (connection) => connection.leave(),
  close: (connection) => connection.close(),
};

/** For each state, how a new connection gets there, and what can happen next. */
const STATES: Readonly<Record<LaneState, readonly [way: string, possible: string]>> = {
  reading: ['', 'enterTurn hold awaitReply startSending startEnding leave close'],
  queued: ['enterTurn', 'leaveTurn close'],
  held: ['hold', 'enterTurn startSending startEnding close'],
  waiting: ['awaitReply', 'finishReply close'],
  sending: ['startSending', 'finishReply close'],
  ending: ['startEnding', 'close'],
  left: ['leave', 'close'],
  closed: ['close', 'close'],
};

function connectionAfter(way: string): LaneConnection {
  const reader = { forget: () => undefined } as unknown as LaneReader;
  const connection = new LaneConnection({} as ClientConnection, reader, 0);
  if (way !== '') TRANSITIONS[way](connection);
  return connection;
}

test('from each state only some states can follow, and any other transition throws', () => {
  for (const [state, [way, possible]] of Object.entries(STATES)) {
    const passed = Object.entries(TRANSITIONS).filter(([, transition]) => {
      const connection = connectionAfter(way);
      assert.equal(connection.state, state);
      try {
        transition(connection);
      } catch (error) {
        assert.match((error as Error).message, new RegExp(`from ${state}$`));
        assert.equal(connection.state, state);
        return false;
      }
      return true;
    });
    assert.equal(passed.map(([name]) => name).join(' '), possible, state);
  }
});

test('after a reply the requests behind it are answered next, if there are any', () => {
  for (const [bytes, state] of [
    ['', 'reading'],
    ['POST', 'held'],
  ]) {
    const reader = { noteBufferSize: () => undefined } as unknown as LaneReader;
    const connection = new LaneConnection({} as ClientConnection, reader, 0);
    connection.awaitReply();
    assert.ok(connection.isAnswering && connection.isBusy);
    connection.keep(Buffer.from(bytes), 0, bytes.length);
    connection.finishReply();
    assert.equal(connection.state, state);
  }
});

const LONG_TYPE = 'perpDexs';
const LONG_BYTES = 300 << 10;
const LONG_QUESTION = `{"type":"${LONG_TYPE}"}`;

/** Gives one type of question a long body, immediately or a turn later. Counts the bodies in memory. */
function answerAtLength(context: TestContext, isLater: boolean): { unreleased: number } {
  const answer = Answers.prototype.answer;
  const counts = { unreleased: 0 };
  context.mock.method(Answers.prototype, 'answer', function (this: Answers, ...asked: Asked) {
    const reply = answer.apply(this, asked) as Reply;
    if (reply.type !== LONG_TYPE) return reply;
    counts.unreleased++;
    reply.body = Buffer.from(String(reply.body).padEnd(LONG_BYTES));
    reply.releaseBody = () => counts.unreleased--;
    return isLater ? new Promise<Reply>((resolve) => setImmediate(resolve, reply)) : reply;
  });
  return counts;
}

type Asked = Parameters<Answers['answer']>;

test('requests behind a long body are answered after it, also if it is there at once', async (t) => {
  const lanes = await openBothLanes(t);
  const counts = answerAtLength(t, false);
  const { free } = lanes.keySets[0];
  const [long, short] = [LONG_QUESTION, '{"type":"meta"}'].map((body) =>
    formatQuestion(free, { body }),
  );
  const bytes = Buffer.concat([short, long, short, long, long, short]);
  const reads = [{ bytes, isAwaited: false }];
  const { text } = await compare(lanes, { reads, ending: 'stays', isSlow: false });
  assert.equal(text.split('HTTP/1.1 200').length - 1, 6);
  assert.equal(counts.unreleased, 0);
});

/** A client that reads only when it is told to. */
class StalledSocket extends MemorySocket {
  deadlineMs = 0;
  #unread: (() => void)[] = [];

  override setTimeout(ms?: number): this {
    this.deadlineMs = ms ?? 0;
    return this;
  }

  override _write(...[bytes, encoding, done]: Parameters<MemorySocket['_write']>): void {
    super._write(bytes, encoding, () => this.#unread.push(done));
  }

  override _writev(...[parts, done]: Parameters<MemorySocket['_writev']>): void {
    super._writev(parts, () => this.#unread.push(done));
  }

  async readAll(): Promise<void> {
    for (const done of this.#unread.splice(0)) done();
    for (let turn = 0; turn < 5; turn++) await new Promise(setImmediate);
  }
}

test('a client that reads the responses before a long body, and then no more, has a deadline', async (t) => {
  const lanes = await openBothLanes(t);
  answerAtLength(t, true);
  const { free } = lanes.keySets[0];
  const socket = new StalledSocket();
  t.after(() => socket.destroy());
  lanes.fast.server.emit('connection', socket);
  await new Promise(setImmediate);
  socket.deliver(
    Buffer.concat([formatQuestion(free), formatQuestion(free, { body: LONG_QUESTION })]),
  );
  // Until the first pieces of the long body are read.
  for (let reads = 0; reads < 3; reads++) await socket.readAll();
  assert.ok(socket.bytesWritten > LONG_BYTES / 3, 'the client has read a part of the long body');
  assert.ok(socket.writableLength > 0, 'the client has not read all of it');
  assert.ok(socket.deadlineMs > 0, 'the connection is closed if the client reads no more');
  for (let reads = 0; reads < 3; reads++) await socket.readAll();
  assert.equal(socket.writableLength, 0);
  assert.equal(socket.deadlineMs, 0);
});
