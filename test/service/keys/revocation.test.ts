import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { run } from '../../../tools/harness/program.ts';
import {
  type Cleanup,
  type Client,
  createKey,
  LIGHT,
  type RunningService,
  serveLedger,
  until,
} from '../../../tools/harness/running.ts';
import { simulateLines } from '../../../tools/harness/simulated-lines.ts';
import { LONG_ONLY, scale } from '../../scale.ts';

const lines = simulateLines(30);

/** Within which a revocation has to reach every worker. */
const REACH_MS = 100;
const CONNECTIONS = 24;
/** The load ends after this many requests on a connection, whatever happens. */
const ASKED_MAX = 3000;
/** How long it goes on after the key was revoked. */
const AFTER_MS = 500;
/** Keys until one of them was revoked in time. */
const TRIES_MAX = 10;

interface Load {
  /** When the last 200 was received, by this process's clock. */
  lastAnsweredMs: number;
  answered: number;
  refused: number;
  other: number;
  isOver: boolean;
}

async function askOn(client: Client, secret: string, load: Load): Promise<void> {
  for (let asked = 0; asked < ASKED_MAX && !load.isOver; asked++) {
    const { status } = await client.ask(secret, LIGHT);
    if (status === 200) {
      load.answered += 1;
      load.lastAnsweredMs = performance.now();
    } else if (status === 401) load.refused += 1;
    else load.other += 1;
  }
}

async function serve(
  context: Cleanup,
  workers: number,
): Promise<{ data: string; service: RunningService }> {
  const { data, service } = await serveLedger(context, lines, { workers });
  return { data, service };
}

/** Revokes a key while it is used; how long after that the last answer was received. */
async function revokeUnderLoad(data: string, service: RunningService): Promise<number> {
  const { id, secret } = await createKey(data);
  await sleep(REACH_MS);
  const load: Load = { lastAnsweredMs: 0, answered: 0, refused: 0, other: 0, isOver: false };
  const clients = Array.from({ length: CONNECTIONS }, () => service.connect());
  const isKnown = async () => (await clients[0].ask(secret, LIGHT)).status === 200;
  await until('the key to be known', isKnown);
  const asking = clients.map((client) => askOn(client, secret, load));
  await until('the load', () => load.answered > 10 * CONNECTIONS);
  // Some workers may have learned of the key later than others.
  load.refused = 0;

  assert.equal((await run(['keys', 'revoke', '--data', data, id])).code, 0);
  const revokedMs = performance.now();
  await sleep(AFTER_MS);
  load.isOver = true;
  await Promise.all(asking);
  for (const client of clients) client.close();
  assert.ok(load.refused > 0, 'the load went on after the revocation');
  assert.equal(load.other, 0);
  return Math.round(load.lastAnsweredMs - revokedMs);
}

test('under load a revoked key gets no answer 100 ms later', LONG_ONLY, async (context) => {
  const { data, service } = await serve(context, scale(2, 2, 4));
  // On a busy machine a 200 may lie unread for a while: then another key is tried.
  for (let tries = 1; ; tries++) {
    const lateMs = await revokeUnderLoad(data, service);
    context.diagnostic(`the last answer came ${lateMs} ms after the revocation`);
    if (lateMs <= REACH_MS) return;
    assert.ok(tries < TRIES_MAX, `none of ${tries} keys was revoked in time`);
  }
});
