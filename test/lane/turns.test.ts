/** A connection's share of the time and memory of a service, and who leaves the fast lane. */

import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { Answers } from '../../src/http/answering/answers.ts';
import type { Reply } from '../../src/http/message/reply.ts';
import { formatQuestion, formatRequest } from '../../tools/harness/service.ts';
import { type BothLanes, LIMITS, openBothLanes } from './both-lanes.ts';
import { MemorySocket } from './memory-socket.ts';

const PIPELINED = 300;
/** How many answers a connection gets between two looks: one turn of the event loop, or parts of two. */
const SHARES = { fast: 2 * 16, plain: 2 } as const;

function countResponses({ text }: MemorySocket): number {
  return text.split('HTTP/1.1 ').length - 1;
}

function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

/** The most responses that one turn brought, and all of them. */
async function answerAll(
  { server }: BothLanes['fast'],
  request: Buffer,
): Promise<{ most: number; all: number }> {
  const socket = new MemorySocket();
  server.emit('connection', socket);
  await turn();
  socket.deliver(Buffer.concat(Array.from({ length: PIPELINED }, () => request)));
  let most = 0;
  let quietTurns = 0;
  for (let before = 0; quietTurns < 20; before = countResponses(socket)) {
    await turn();
    const gained = countResponses(socket) - before;
    most = Math.max(most, gained);
    quietTurns = gained === 0 ? quietTurns + 1 : 0;
  }
  const all = countResponses(socket);
  socket.destroy();
  return { most, all };
}

for (const name of ['fast', 'plain'] as const) {
  test(`requests sent ahead get a bounded share of each turn (${name} lane)`, async (t) => {
    const lanes = await openBothLanes(t);
    const question = formatQuestion(lanes.keySets[0].free);
    const { most, all } = await answerAll(lanes[name], question);
    assert.equal(all, PIPELINED);
    assert.ok(most <= SHARES[name], `${most} responses in one turn`);
  });

  test(`requests without a key get a bounded share as well (${name} lane)`, async (t) => {
    const lanes = await openBothLanes(t);
    const health = formatRequest({ method: 'GET', path: '/health' });
    const { most, all } = await answerAll(lanes[name], health);
    assert.equal(all, PIPELINED);
    assert.ok(most <= SHARES.plain, `${most} responses in one turn`);
  });
}

const TURNS_MAX = 2_000;

/** Makes each question take some time, and its answer at least so long. */
function slowDown(context: TestContext, milliseconds: number, length: number): void {
  const answer = Answers.prototype.answer;
  context.mock.method(Answers.prototype, 'answer', function (this: Answers, ...asked: Asked) {
    const endMs = performance.now() + milliseconds;
    while (performance.now() < endMs);
    const reply = answer.apply(this, asked) as Reply;
    reply.body = `${reply.body}`.padEnd(length);
    return reply;
  });
}

type Asked = Parameters<Answers['answer']>;

for (const [what, milliseconds, length, mostExpected] of [
  ['long answers', 1.5, 5000, 3],
  ['short answers', 1.5, 0, 4],
] as const) {
  test(`a turn takes no longer than some milliseconds, however many ask: ${what}`, async (t) => {
    const lanes = await openBothLanes(t);
    slowDown(t, milliseconds, length);
    const question = formatQuestion(lanes.keySets[0].free);
    const sockets = Array.from({ length: 50 }, () => new MemorySocket());
    for (const socket of sockets) lanes.fast.server.emit('connection', socket);
    await turn();
    // The first of them asks for several at a time.
    sockets[0].deliver(Buffer.concat([question, question, question, question, question]));
    for (const socket of sockets.slice(1)) socket.deliver(question);
    const countAll = () => sockets.reduce((sum, socket) => sum + countResponses(socket), 0);
    let most = 0;
    let turns = 0;
    for (let before = 0; before < 54; before = countAll()) {
      assert.ok(++turns < TURNS_MAX, `${before} responses after ${turns} turns`);
      await turn();
      most = Math.max(most, countAll() - before);
    }
    assert.ok(most <= mostExpected, `${most} responses in one turn`);
    for (const socket of sockets) socket.destroy();
  });
}

test('it is counted who leaves the fast lane, and why', async (t) => {
  const lanes = await openBothLanes(t);
  const { free, expired } = lanes.keySets[0];
  const question = formatQuestion(free);
  for (const bytes of [
    question,
    formatRequest({ method: 'GET', path: '/health' }),
    question.subarray(0, -1),
    question.subarray(0, 10),
    formatQuestion(expired),
    formatRequest({ method: 'GET', path: `/${free}/info?type=meta` }),
    formatQuestion(free, { headers: { 'Ledger-Min-Height': '1' } }),
    formatQuestion(free, { headers: { Expect: '100-continue' } }),
    formatQuestion(free, { version: '1.0' }),
    formatQuestion(free, { body: ' '.repeat(LIMITS.bodyBytesMax + 1) }),
  ]) {
    const socket = new MemorySocket();
    lanes.fast.server.emit('connection', socket);
    await turn();
    socket.deliver(bytes);
    for (let count = 0; count < 5; count++) await turn();
    socket.destroy();
  }
  const exits = (await lanes.fast.registry.metrics()).match(/^perpinfo_fast_lane_exits.*$/gm);
  assert.deepEqual(exits?.sort(), [
    'perpinfo_fast_lane_exits_total{reason="expect"} 1',
    'perpinfo_fast_lane_exits_total{reason="page"} 1',
    'perpinfo_fast_lane_exits_total{reason="syntax"} 1',
    'perpinfo_fast_lane_exits_total{reason="too_large"} 1',
  ]);
});
