import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ItemOutcome } from '../../../src/upstream/channel/follower-client.ts';
import { ALICE, describePort, KEY, StubHandler } from './conformance.ts';
import { connectInProcess } from './in-process.ts';

describePort('in one process', async (handler, work) => {
  const client = connectInProcess(handler);
  await work(client);
  await client.close();
});

test('4,096 wants are in flight, 65,536 wait for them, and further ones are told to come again', async () => {
  const handler = new StubHandler();
  let finish: (outcome: ItemOutcome) => void = () => undefined;
  const outcome = new Promise<ItemOutcome>((resolve) => {
    finish = resolve;
  });
  handler.outcome = () => outcome;
  const client = connectInProcess(handler);
  const want = (dex: string, keyId = KEY) =>
    client.readItem({ kind: 'account', user: ALICE, dex }, 60_000, keyId);
  const different = Array.from({ length: 4_096 }, (_, index) =>
    want(String(index), `key ${index % 8}`),
  );
  assert.match(JSON.stringify(await want('one more')), /"busy".*4096 questions to the exchange/);
  const same = Array.from({ length: 65_536 - 4_096 }, (_, index) =>
    want(String(index % 8), `key ${index % 8}`),
  );
  assert.match(JSON.stringify(await want('0')), /"busy".*65536 questions wait/);
  finish({ outcome: 'recorded', height: 9 });
  for (const each of [...different, ...same]) {
    assert.deepEqual(await each, { outcome: 'recorded', height: 9 });
  }
  assert.deepEqual(await want('one more'), { outcome: 'recorded', height: 9 });
  assert.equal(handler.wants.length, 4_097);
  await client.close();
});

test('a key has an eighth of the places of all, and leaves the others to other keys', async () => {
  const handler = new StubHandler();
  let finish: (outcome: ItemOutcome) => void = () => undefined;
  const outcome = new Promise<ItemOutcome>((resolve) => {
    finish = resolve;
  });
  handler.outcome = () => outcome;
  const client = connectInProcess(handler);
  const want = (dex: string, keyId: string) =>
    client.readItem({ kind: 'account', user: ALICE, dex }, 60_000, keyId);
  const different = Array.from({ length: 512 }, (_, index) => want(String(index), 'greedy'));
  const refused = [await want('more', 'greedy'), await client.forward({ type: 'x' }, 'greedy')];
  for (const each of refused) {
    assert.match(JSON.stringify(each), /"busy".*this key has 512 questions to the exchange/);
  }
  const same = Array.from({ length: 8_192 - 512 }, () => want('0', 'greedy'));
  assert.match(JSON.stringify(await want('0', 'greedy')), /this key has 8192 questions that wait/);
  const modest = want('0', 'modest');
  finish({ outcome: 'recorded', height: 9 });
  for (const each of [...different, ...same, modest]) {
    assert.deepEqual(await each, { outcome: 'recorded', height: 9 });
  }
  assert.deepEqual(await want('more', 'greedy'), { outcome: 'recorded', height: 9 });
  await client.close();
});
