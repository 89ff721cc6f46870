/** Compares this build with another build, in turns on the same exchange. */

import { atLeast, type Goal } from '../frame/report.ts';
import { Wrk } from '../load/wrk.ts';
import { askForAccount, type Exchange } from '../servers/exchange.ts';
import type { RunningServer } from '../servers/servers.ts';
import { createBulkLoad } from './bulk.ts';
import { measureKinds, rowRatios } from './requests.ts';
import {
  type Contestant,
  measureInTurns,
  pickFew,
  printContestants,
  type RoundsScale,
  ratiosOf,
} from './throughput.ts';

/** The minimum ratio to the other build. It allows for the differences between rounds. */
const RATIO_MIN = 0.97;

/** Returns the loads of wrk, by the names of their rows. */
function listLoads(exchange: Exchange): Record<string, Wrk> {
  const { folder, users, requestPath } = exchange;
  const bodies = users.map(askForAccount);
  const create = (name: string, asked: readonly string[]) =>
    new Wrk({ folder, name: `beside-${name}`, bodies: asked, requestPath });
  return {
    'random users': create('all', bodies),
    'few users': create('few', pickFew(bodies)),
    'many accounts in one call': createBulkLoad(exchange),
  };
}

async function besideByWrk(
  exchange: Exchange,
  [ours, theirs]: readonly RunningServer[],
  scale: RoundsScale,
): Promise<Goal[]> {
  const goals: Goal[] = [];
  for (const [name, wrk] of Object.entries(listLoads(exchange))) {
    const other: Contestant = { name: `${name}, the other`, server: theirs, wrk, rounds: [] };
    const own: Contestant = { name: `${name}, this one`, server: ours, wrk, rounds: [] };
    await measureInTurns([other, own], scale);
    printContestants([other, own]);
    goals.push(atLeast(`beside the other: ${name}`, RATIO_MIN, ratiosOf(own, other)));
  }
  return goals;
}

/** Compares the server of this build with the server of the other build. */
export async function benchBeside(
  exchange: Exchange,
  servers: readonly [own: RunningServer, other: RunningServer],
  scale: RoundsScale,
): Promise<Goal[]> {
  const goals = await besideByWrk(exchange, servers, scale);
  const rows = await measureKinds(exchange, servers, scale);
  for (let index = 0; index < rows.length; index += servers.length) {
    const [own, theirs] = rows.slice(index, index + servers.length);
    const figure = `beside the other: ${own.kind.name}`;
    goals.push(atLeast(figure, RATIO_MIN, rowRatios(own, theirs)));
  }
  return goals;
}
