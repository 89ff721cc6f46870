/**
 * Accounts a second when many are asked for in one call, beside one call for each. Both sides have as
 * many connections as it takes to keep the worker busy: a single client that waits for each answer
 * would mostly measure its own way there and back, and make calls for many look better than they are.
 */

import { askForAccount, type Exchange } from './exchange.ts';
import { spreadOf } from './measure.ts';
import { atLeast, formatSpread, type Goal, printTable } from './report.ts';
import type { RunningServer } from './servers.ts';
import type { RoundsScale } from './throughput.ts';
import { Wrk } from './wrk.ts';

const USERS_A_CALL = 1000;
const CALLS = 50;
/** Answers of a thousand accounts are megabytes: more connections would only fill buffers. */
const BULK_CONNECTIONS = 4;

/** A question about users who are far from one another in memory. */
function askForMany(users: readonly string[], call: number): string {
  const stride = Math.max(1, Math.floor(users.length / USERS_A_CALL));
  const chosen = Array.from(
    { length: USERS_A_CALL },
    (_, index) => users[(index * stride + call) % users.length],
  );
  return JSON.stringify({ type: 'batchClearinghouseStates', users: chosen });
}

export function createBulkLoad({ folder, users, requestPath }: Exchange): Wrk {
  return new Wrk({
    ...{ folder, name: 'bulk', requestPath, connections: BULK_CONNECTIONS },
    bodies: Array.from({ length: CALLS }, (_, call) => askForMany(users, call)),
  });
}

export async function benchBulk(
  exchange: Exchange,
  { port }: RunningServer,
  { rounds, roundSeconds, warmUpSeconds }: RoundsScale,
): Promise<Goal[]> {
  const { folder, users, requestPath } = exchange;
  const one = new Wrk({ folder, name: 'single', bodies: users.map(askForAccount), requestPath });
  const many = createBulkLoad(exchange);
  const single: number[] = [];
  const bulk: number[] = [];
  for (const wrk of [one, many]) await wrk.load(port, warmUpSeconds);
  for (let round = 0; round < rounds; round++) {
    single.push((await one.load(port, roundSeconds)).requestsPerSecond);
    bulk.push((await many.load(port, roundSeconds)).requestsPerSecond * USERS_A_CALL);
  }
  const ratios = bulk.map((accounts, index) => accounts / single[index]);
  printTable(
    ['', 'accounts/s'],
    [
      ['one a call', formatSpread(spreadOf(single), 0)],
      [`${USERS_A_CALL} a call`, formatSpread(spreadOf(bulk), 0)],
    ],
  );
  return [atLeast(`accounts/s, ${USERS_A_CALL} a call / one a call`, 5, ratios)];
}
