/** Subscriptions on a partial ledger: to what it holds, and to what it does not. */

import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { connectPush } from '../../tools/harness/push-client.ts';
import { createKey } from '../../tools/harness/service.ts';
import { makeTemporaryFolder } from '../../tools/harness/temporary-folder.ts';
import { createInProcess, listenLocally, openGround } from '../http/in-process.ts';
import { openSteppedLedger } from './stepped-ledger.ts';

const USER = '0xabcdef0000000000000000000000000000000001';
const STRANGER = '0xabcdef0000000000000000000000000000000002';
const TIME = 1_758_556_800_000;

function account(dex: string, rawUsd: string) {
  return { type: 'account', user: USER, dex, rawUsd, positions: [] };
}

async function openPartial(context: TestContext) {
  let close: () => Promise<void> = async () => undefined;
  context.after(() => close());
  const folder = await makeTemporaryFolder(context);
  const ledger = await openSteppedLedger(context, folder);
  const append = (...events: object[]) => {
    const height = ledger.state.height + 1;
    return ledger.append(JSON.stringify({ height, time: TIME + height, events }));
  };
  await append({ type: 'partial' }, account('', '1.5'));
  const key = await createKey(folder);
  const ground = await openGround(folder);
  const service = createInProcess(ground, { settings: { pushInterval: 0 } });
  await ground.live.restored;
  close = async () => {
    service.close();
    await ground.close();
  };
  const client = await connectPush(context, { port: await listenLocally(service.server), key });
  return { append, client, logged: service.logged };
}

test('a subscription to an account that is unknown is refused, and one that is known is sent', async (t) => {
  const { client } = await openPartial(t);
  const subscription = { type: 'clearinghouseState', user: STRANGER, dex: '' };
  client.subscribe(subscription);
  const refusal = String(await client.next('error'));
  assert.match(refusal, /^Subscription refused: .*this ledger does not hold the account of 0xabcd/);
  client.subscribe({ ...subscription, user: USER });
  await client.next('subscriptionResponse');
  const { height } = await client.nextState();
  assert.equal(height, 1);
  // The refused one left nothing behind: it can be asked for again.
  client.subscribe(subscription);
  assert.match(String(await client.next('error')), /^Subscription refused: /);
});

test('a new dex pauses a subscription to all dexes until the account on it is known', async (t) => {
  const { append, client, logged } = await openPartial(t);
  client.subscribe({ type: 'allDexsClearinghouseState', user: USER });
  await client.next('subscriptionResponse');
  const first = await client.nextState('allDexsClearinghouseState');
  assert.equal(first.height, 1);
  await append({ type: 'perpDex', dex: 'xyz', fullName: 'Metals', deployer: STRANGER });
  await append(account('', '2.5'));
  await append(account('xyz', '7.5'));
  const next = await client.nextState('allDexsClearinghouseState');
  assert.equal(next.height, 4);
  assert.deepEqual(logged, []);
});
