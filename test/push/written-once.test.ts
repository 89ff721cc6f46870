/** A state is written once for many subscribers, sent in one go, and not computed if it has not changed. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Outbox } from '../../src/http/transport/websocket/outbox.ts';
import type { StateQuestionType } from '../../src/info/question-type.ts';
import { clearinghouseState } from '../../src/info/types/clearinghouse-state.ts';
import { run } from '../../tools/harness/program.ts';
import { connectPush, type PushClient } from '../../tools/harness/push-client.ts';
import { HEIGHT } from '../../tools/harness/service.ts';
import { startInProcess } from '../http/in-process.ts';

const [ALICE, BOB, STRANGER] = ['aa', 'bb', 'cc'].map((end) => `0x${end.padStart(40, '0')}`);
/** As many as a frame is kept for. */
const CONNECTIONS = 3;
const FUTURE_MS = 4_000_000_000_000;

test('a block is written once for each changed account, and sent once to each client', async (context) => {
  const { folder, key, port } = await startInProcess(context, { settings: { pushInterval: 0 } });
  let height = HEIGHT;
  const transferTo = async (...users: string[]) => {
    height += 1;
    const events = users.map((user) => ({ type: 'transfer', user, dex: '', amount: '1.0' }));
    const line = JSON.stringify({ height, time: FUTURE_MS + height, events });
    // By another process: one that reads a ledger cannot open it for writing as well.
    const { code } = await run(['append', '--data', folder, '--ahead-max', '0'], { input: line });
    assert.equal(code, 0);
  };
  await transferTo(ALICE, BOB);
  const clients: PushClient[] = [];
  for (let count = 0; count < CONNECTIONS; count++) {
    const client = await connectPush(context, { port, key });
    for (const user of [ALICE, BOB]) {
      client.subscribe({ type: 'clearinghouseState', user });
      await client.next('subscriptionResponse');
      await client.nextState();
    }
    clients.push(client);
  }
  const written = context.mock.method(
    (clearinghouseState as Required<StateQuestionType>).rows,
    'write',
  );
  const sent = context.mock.method(Outbox.prototype, 'sendFrames');
  const countsOf = async (statesEach: number, ...users: string[]) => {
    written.mock.resetCalls();
    sent.mock.resetCalls();
    await transferTo(...users);
    for (const client of clients) {
      for (let state = 0; state < statesEach; state++) {
        assert.equal((await client.nextState()).height, height);
      }
    }
    return [written.mock.callCount(), sent.mock.callCount()];
  };
  assert.deepEqual(await countsOf(1, ALICE), [1, CONNECTIONS]);
  assert.deepEqual(await countsOf(2, ALICE, BOB), [2, CONNECTIONS]);
  // Nobody is sent a stranger's block: the next one shows that it has been looked at.
  await transferTo(STRANGER);
  assert.deepEqual(await countsOf(1, BOB), [1, CONNECTIONS]);
});
