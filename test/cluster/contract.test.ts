/** What the simulation (test/simulation/nats) supposes of a NATS server holds for a real one. */

import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { CONTRACT, runContract } from '../../tools/fault-simulator/nats/contract.ts';
import { startNats } from './nats-servers.ts';

const nats = await startNats();
after(() => nats.stop());

test('a real NATS server keeps the contract of the simulated one', async () => {
  const link = await nats.connect('contract');
  try {
    assert.deepEqual(await runContract(link), CONTRACT);
  } finally {
    await link.close();
  }
});
