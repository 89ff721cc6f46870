import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { WantedOutcome } from '../../src/wanted/wanted.ts';
import { ALICE, describePort, KEY, StubHandler } from './conformance.ts';
import { connectInProcess } from './in-process.ts';

describePort('in one process', async (handler, work) => {
  const client = connectInProcess(handler);
  await work(client);
  await client.close();
});

test('4,096 wants are in flight, 65,536 wait for them, and further ones are told to come again', async () => {
  const handler = new StubHandler();
  let finish: (outcome: WantedOutcome) => void = () => undefined;
  const outcome = new Promise<WantedOutcome>((resolve) => {
    finish = resolve;
  });
  handler.outcome = () => outcome;
  const client = connectInProcess(handler);
  const want = (dex: string) => client.want({ kind: 'account', user: ALICE, dex }, 60_000, KEY);
  const different = Array.from({ length: 4_096 }, (_, index) => want(String(index)));
  assert.match(JSON.stringify(await want('one more')), /"busy".*4096 questions to the exchange/);
  const same = Array.from({ length: 65_536 - 4_096 }, () => want('0'));
  assert.match(JSON.stringify(await want('0')), /"busy".*65536 questions wait/);
  finish({ outcome: 'recorded', height: 9 });
  for (const each of [...different, ...same]) {
    assert.deepEqual(await each, { outcome: 'recorded', height: 9 });
  }
  assert.deepEqual(await want('one more'), { outcome: 'recorded', height: 9 });
  assert.equal(handler.wants.length, 4_097);
  await client.close();
});
