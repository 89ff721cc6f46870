/** The archive of a ledger on NATS, kept beside the service that answers from both. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createPlaces, joinLines, succeed } from '../../tools/harness/program.ts';
import { until } from '../../tools/harness/running.ts';
import { simulateLines } from '../../tools/harness/simulated-lines.ts';
import { startNats } from './nats-servers.ts';
import { createSharedKey, Oracle, startReplicas } from './replicas.ts';

const lines = simulateLines(30, 'archive');
const AT_HEIGHT = 20;

test('serve --archive keeps the past of a ledger on NATS', async (context) => {
  const nats = await startNats();
  context.after(() => nats.stop());
  const address = nats.address('archived');
  await succeed(['append', '--ledger', address], { input: joinLines(lines) });
  const { secret } = await createSharedKey(address);
  const data = createPlaces()();
  const flags = ['--archive', '--max-age', '0'];
  const [replica] = await startReplicas(context, [{ address, data, flags }]);
  const oracle = new Oracle(lines);
  const client = replica.connect();
  for (const [index, question] of oracle.questions.entries()) {
    const past = { ...question, atHeight: AT_HEIGHT };
    const { headers, body } = await until('the past', async () => {
      const answer = await client.ask(secret, past);
      return answer.status === 200 && answer;
    });
    assert.equal(headers['ledger-height'], String(AT_HEIGHT));
    oracle.check(index, AT_HEIGHT, body);
  }
});
