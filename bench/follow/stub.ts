/**
 * Starts the stub exchange and a service that follows it, and reads the counters of the exchange.
 */

import path from 'node:path';
import { Client } from '../../tools/harness/running.ts';
import { RunningStub, type StubChoice } from '../../tools/harness/running-stub.ts';
import { Truth } from '../../tools/stub-exchange/truth.ts';
import type { Bench } from '../frame/frame.ts';
import { createKey, PATIENCE } from '../servers/exchange.ts';
import { type RunningServer, startPerpinfo } from '../servers/servers.ts';

export interface Stub {
  readonly stub: RunningStub;
  /** All users with an account at the exchange. */
  readonly users: readonly string[];
  /** The exchange's ledger. */
  readonly file: string;
}

/** A service that follows the exchange. */
export interface Following {
  readonly service: RunningServer;
  readonly secret: string;
}

export async function startStub(bench: Bench, choice: Partial<StubChoice>): Promise<Stub> {
  const file = path.join(bench.folder, 'exchange.ndjson');
  const stub = await RunningStub.start(bench, { file, limit: 0, ...choice });
  return { stub, users: new Truth(file).users, file };
}

/**
 * Starts `serve --follow` with further flags. The first process of the service is the follower's
 * process.
 */
export async function startFollowing(
  bench: Bench,
  { stub }: Stub,
  flags: readonly string[],
): Promise<Following> {
  const data = path.join(bench.folder, 'followed');
  const secret = await createKey(data);
  const following = ['--follow', stub.url, ...PATIENCE, ...flags];
  const service = await bench.keep(startPerpinfo(data, { workers: 1, flags: following }));
  return { service, secret };
}

/** Asks for every account until it is answered, so that the ledger has all accounts. */
export async function askForAll(
  { service, secret }: Following,
  users: readonly string[],
): Promise<void> {
  const client = new Client(service.port);
  for (const user of users) {
    for (let status = 0; status !== 200; ) {
      ({ status } = await client.ask(secret, { type: 'clearinghouseState', user }));
    }
  }
  client.close();
}

/** Returns the number of requests that the exchange has received. */
export async function countCalls(stub: RunningStub): Promise<number> {
  const { countByType } = (await stub.report()).weight;
  return Object.values(countByType).reduce((sum, count) => sum + count, 0);
}
