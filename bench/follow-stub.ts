/** The stub exchange, a service that follows it, and what the exchange has counted. */

import path from 'node:path';
import { Client } from '../tools/harness/running.ts';
import { RunningStub, type StubChoice } from '../tools/harness/running-stub.ts';
import { Truth } from '../tools/stub-exchange/truth.ts';
import { createKey, PATIENCE } from './exchange.ts';
import { type RunningServer, startPerpinfo } from './servers.ts';

export interface Cleanup {
  after(clean: () => Promise<void> | void): void;
}

export interface Stub {
  readonly stub: RunningStub;
  /** Everyone with an account at the exchange. */
  readonly users: readonly string[];
  /** The exchange's ledger. */
  readonly file: string;
}

/** A service that follows the exchange. */
export interface Following {
  readonly service: RunningServer;
  readonly secret: string;
}

export async function startStub(
  folder: string,
  cleanup: Cleanup,
  choice: Partial<StubChoice>,
): Promise<Stub> {
  const file = path.join(folder, 'exchange.ndjson');
  const stub = await RunningStub.start(cleanup, { file, limit: 0, ...choice });
  return { stub, users: new Truth(file).users, file };
}

/** `serve --follow` with further flags; its first process is the follower's. */
export async function startFollowing(
  folder: string,
  cleanup: Cleanup,
  { stub }: Stub,
  flags: readonly string[],
): Promise<Following> {
  const data = path.join(folder, 'followed');
  const secret = await createKey(data);
  const following = ['--follow', stub.url, ...PATIENCE, ...flags];
  const service = await startPerpinfo(data, { workers: 1, flags: following });
  cleanup.after(() => service.stop());
  return { service, secret };
}

/** Has every account read once, so that the ledger holds it. */
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

/** Requests that the exchange has had. */
export async function countCalls(stub: RunningStub): Promise<number> {
  const { countByType } = (await stub.report()).weight;
  return Object.values(countByType).reduce((sum, count) => sum + count, 0);
}
