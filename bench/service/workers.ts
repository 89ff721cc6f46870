/**
 * Measures what a second worker gains if the load runs on the same cores. Two workers and wrk need
 * three cores. On a machine with two cores, requests/s cannot double, so the processor time of an
 * answer is stated, too. If this time stays the same, workers do not slow each other down, and only
 * the cores are missing.
 */

import { availableParallelism } from 'node:os';
import { median } from '../frame/measure.ts';
import { type Goal, ratiosIn, stated } from '../frame/report.ts';
import { Wrk } from '../load/wrk.ts';
import { askForAccount, type Exchange, PATIENCE } from '../servers/exchange.ts';
import { type RunningServer, startPerpinfo } from '../servers/servers.ts';
import {
  type Contestant,
  measureInTurns,
  printContestants,
  type Round,
  type RoundsScale,
  ratiosOf,
} from './throughput.ts';

export async function benchWorkers(
  { folder, users, requestPath }: Exchange,
  one: RunningServer,
  scale: RoundsScale,
): Promise<Goal[]> {
  const wrk = new Wrk({ folder, name: 'workers', bodies: users.map(askForAccount), requestPath });
  const two = await startPerpinfo(folder, { workers: 2, flags: PATIENCE });
  try {
    const contestants: Contestant[] = [
      { name: 'one worker', server: one, wrk, rounds: [] },
      { name: 'two workers', server: two, wrk, rounds: [] },
    ];
    await measureInTurns(contestants, scale);
    printContestants(contestants);
    return state(contestants);
  } finally {
    await two.stop();
  }
}

/**
 * Returns the maximum of requests/s that the cores allow, from the processor time of an answer in
 * the server and in wrk.
 */
function ceilingOf({ serverMicroseconds, wrkMicroseconds }: Round): number {
  return (availableParallelism() * 1e6) / (serverMicroseconds + wrkMicroseconds);
}

function state([one, two]: readonly Contestant[]): Goal[] {
  const serverTimes = ratiosIn(two.rounds, one.rounds, 'serverMicroseconds');
  const shares = two.rounds.map((round) => round.requestsPerSecond / ceilingOf(round));
  const cores = availableParallelism();
  const ceiling = median(two.rounds.map(ceilingOf)).toFixed(0);
  return [
    stated('answers of two workers / of one, wrk on the same cores', ratiosOf(two, one)),
    stated("the server's processor time of an answer, two workers / one", serverTimes),
    stated(`two workers / what ${cores} cores give server and wrk, ${ceiling}/s`, shares),
  ];
}
