/** A poll that is answered by 304 computes nothing, and a long answer to a poll has a tag as well. */

import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { RowAnswerCache } from '../../src/http/answering/row-answer-cache.ts';
import { STATE_TYPES } from '../../src/info/question-types.ts';
import { type Answer, Client } from '../../tools/harness/running.ts';
import { HEIGHT } from '../../tools/harness/service.ts';
import { type ServiceInProcess, startInProcess } from './in-process.ts';

const USER = '0x00000000000000000000000000000000000000aa';

/** A question of each type, as a query. */
function listQueries(): string[] {
  return STATE_TYPES.map(({ type, fields }) => {
    const names = Object.keys(fields);
    const given = { type, user: USER, users: USER, id: '3' };
    const asked = Object.entries(given).filter(([name]) => name === 'type' || names.includes(name));
    return new URLSearchParams(Object.fromEntries(asked)).toString();
  });
}

interface Poll {
  readonly query: string;
  readonly tag?: string;
  readonly method?: string;
  /** Node's server answers instead of the fast lane. */
  readonly isOnNode?: boolean;
}

function poll({ port, key }: ServiceInProcess, { query, tag, method, isOnNode }: Poll) {
  const client = new Client(port);
  const headers = {
    ...(tag !== undefined && { 'If-None-Match': tag }),
    ...(isOnNode && { TE: 'trailers' }),
  };
  const path = `/${key}/info?${query}`;
  const answer = client.send({ path, headers, ...(method !== undefined && { method }) });
  return answer.finally(() => client.close());
}

function tagOf({ headers }: Answer): string {
  return String(headers['etag']);
}

/** From now on any answer that is computed fails the test. */
function forbidAnswers(context: TestContext): void {
  const refuse = () => assert.fail('an answer was computed');
  for (const questionType of STATE_TYPES) {
    context.mock.method(questionType, 'answer', refuse);
    const { rows, push, pieces } = questionType;
    for (const group of [rows, push, pieces]) {
      if (group?.write === undefined) continue;
      context.mock.method(group as { write: unknown } as { write: () => void }, 'write', refuse);
    }
  }
  context.mock.method(RowAnswerCache.prototype, 'find', refuse);
}

test('a poll for what the client has computes no answer, of any type', async (context) => {
  const service = await startInProcess(context);
  const queries = listQueries();
  const answers = await Promise.all(queries.map((query) => poll(service, { query })));
  forbidAnswers(context);
  for (const [index, query] of queries.entries()) {
    const tag = tagOf(answers[index]);
    assert.match(tag, /^W\/"/, `${query}: ${answers[index].body}`);
    for (const isOnNode of [false, true]) {
      const again = await poll(service, { query, tag, isOnNode });
      assert.deepEqual([again.status, again.body, tagOf(again)], [304, '', tag], query);
    }
  }
  assert.deepEqual(service.logged, []);
});

test('a long answer to a poll has a tag, and so has its head alone', async (context) => {
  const service = await startInProcess(context);
  const users = Array.from({ length: 60 }, (_, index) => `0x${String(index).padStart(40, '0')}`);
  const query = `type=batchClearinghouseStates&users=${users.join(',')}`;
  for (const isOnNode of [false, true]) {
    const whole = await poll(service, { query, isOnNode });
    assert.equal(JSON.parse(whole.body).successful_states.length, users.length);
    assert.equal(whole.headers['ledger-height'], String(HEIGHT));
    const tag = tagOf(whole);
    assert.match(tag, /^W\/"[\w-]{12}-batchClearinghouseStates-\d+"$/);
    const again = await poll(service, { query, tag, isOnNode });
    assert.deepEqual([again.status, again.body, tagOf(again)], [304, '', tag]);
    const head = await poll(service, { query, isOnNode, method: 'HEAD' });
    const length = String(Buffer.byteLength(whole.body));
    assert.deepEqual([head.status, head.body, tagOf(head)], [200, '', tag]);
    assert.equal(head.headers['content-length'], length);
  }
});
