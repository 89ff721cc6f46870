import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { createPlaces, run } from '../cli/program.ts';
import { measureOwnDelay } from '../own-delay.ts';
import { LONG_ONLY, scale } from '../scale.ts';
import { simulateLines } from '../simulated-lines.ts';
import {
  type Cleanup,
  type Client,
  createKey,
  LIGHT,
  makeLedger,
  type RunningService,
  startService,
  until,
} from './running.ts';

const place = createPlaces();
const lines = simulateLines(30);

/** Within which a revocation has to reach every worker. */
const REACH_MS = 100;
const CONNECTIONS = 24;
/** The load ends after this many requests on a connection, whatever happens. */
const ASKED_MAX = 3000;
/** How long it goes on after the key was revoked. */
const AFTER_MS = 500;

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
  const data = await makeLedger(place(), lines);
  const flags = ['--max-age', '0'];
  const service = await startService(context, { data, workers, flags });
  await service.untilCaughtUp(lines.length);
  return { data, service };
}

test(
  'under load on several workers, a revoked key gets no answer 100 ms later',
  LONG_ONLY,
  async (context) => {
    const { data, service } = await serve(context, scale(2, 2, 4));
    const { id, secret } = await createKey(data);
    await sleep(REACH_MS);
    const load: Load = { lastAnsweredMs: 0, answered: 0, refused: 0, other: 0, isOver: false };
    const clients = Array.from({ length: CONNECTIONS }, () => service.connect());
    const asking = clients.map((client) => askOn(client, secret, load));
    await until('the load', () => load.answered > 10 * CONNECTIONS);
    assert.equal(load.refused, 0);

    // A 200 may have lain unread for as long as this process was late.
    const ownDelay = measureOwnDelay(() => load.isOver);
    assert.equal((await run(['keys', 'revoke', '--data', data, id])).code, 0);
    const revokedMs = performance.now();
    await sleep(AFTER_MS);
    load.isOver = true;
    await Promise.all(asking);

    assert.ok(load.refused > 0, 'the load went on after the revocation');
    assert.equal(load.other, 0);
    const lateMs = load.lastAnsweredMs - revokedMs;
    const allowedMs = REACH_MS + (await ownDelay);
    assert.ok(lateMs <= allowedMs, `a 200 came ${lateMs} ms later, ${allowedMs} ms are allowed`);
  },
);
