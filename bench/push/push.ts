/**
 * Measures how fast states are pushed, compared with a bare WebSocket server in the same run:
 *
 *   npm run bench:push              1,000 connections with 10 subscriptions each, some minutes
 *   npm run bench:push -- --quick   with fewer, in short rounds: a trial run
 *   npm run bench:push -- --profile FOLDER   writes profiles of the workers' time to the folder
 *   npm run bench:push -- --beside DIR   the build of another checkout (DIR/dist/main.js), too
 *
 * The bare server computes nothing: it sends fixed frames of the same length as fast as it can.
 */

import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { createStateFormat } from '../../src/http/push/frames.ts';
import { parseQuestion } from '../../src/info/read-question.ts';
import type { StateView } from '../../src/state/state.ts';
import { drawWishes, requireOpenFiles } from '../../test/push/crowd.ts';
import { createLiveLedger } from '../../test/push/live-ledger.ts';
import { type Bench, runBench } from '../frame/frame.ts';
import { spreadOf } from '../frame/measure.ts';
import { atLeast, atMost, formatSpread, type Goal } from '../frame/report.ts';
import { findTypicalAnswer, usersOf } from '../servers/dataset.ts';
import { createKey, PATIENCE } from '../servers/exchange.ts';
import {
  type PerpinfoOptions,
  type RunningServer,
  startFixedPush,
  startPerpinfo,
} from '../servers/servers.ts';
import { benchFewChanges } from './few-changes.ts';
import { benchKeptRate } from './kept-rate.ts';
import { measureRound, microsecondsPerUpdate, type PushRound, type RoundSetting } from './round.ts';

const POSITIONS_PER_ACCOUNT = 4;
const SUBSCRIPTIONS_EACH = 10;
const INTERVALS_MS = [0, 250, 1000];

const FULL = { accounts: 10_000, connections: 1000, rounds: 3, warmUpSeconds: 3, seconds: 8 };
const QUICK = { accounts: 1000, connections: 100, rounds: 1, warmUpSeconds: 1, seconds: 2 };
type Scale = typeof FULL;

interface Contestant {
  readonly name: string;
  start(): Promise<RunningServer>;
  readonly rounds: PushRound[];
}

const { values } = parseArgs({
  options: {
    quick: { type: 'boolean', default: false },
    profile: { type: 'string' },
    beside: { type: 'string' },
  },
});

/** Returns the node flags for the servers of this build. */
function listNodeFlags(): string[] {
  const { profile } = values;
  return profile === undefined ? [] : ['--cpu-prof', `--cpu-prof-dir=${profile}`];
}

function createContestants(folder: string, subscriptions: number): Contestant[] {
  const { beside } = values;
  const nodeFlags = listNodeFlags();
  const bare = {
    name: 'ws, fixed frames',
    start: () => startFixedPush(path.join(folder, 'frame.json'), subscriptions),
    rounds: [],
  };
  const serve = (name: string, intervalMs: number, options: Partial<PerpinfoOptions>) => ({
    name: `${name} --push-interval ${intervalMs}`,
    start: () => {
      const flags = ['--push-interval', String(intervalMs), ...PATIENCE];
      return startPerpinfo(folder, { workers: 1, flags, ...options });
    },
    rounds: [],
  });
  const ours = INTERVALS_MS.map((intervalMs) => serve('perpinfo', intervalMs, { nodeFlags }));
  if (beside === undefined) return [bare, ...ours];
  return [bare, ...ours, serve('the other', 0, { main: path.join(beside, 'dist/main.js') })];
}

const COLUMNS: { title: string; digits: number; of(round: PushRound, bare: PushRound): number }[] =
  [
    { title: 'updates/s', digits: 0, of: (round) => round.updatesPerSecond },
    {
      title: 'beside ws',
      digits: 2,
      of: (round, bare) => round.updatesPerSecond / bare.updatesPerSecond,
    },
    { title: 'delay p50, ms', digits: 0, of: (round) => round.delayP50Ms },
    { title: 'delay p99, ms', digits: 0, of: (round) => round.delayP99Ms },
    { title: 'server, cores', digits: 2, of: (round) => round.serverCpu },
    { title: 'clients, cores', digits: 2, of: (round) => round.clientsCpu },
    { title: 'RssAnon, MB', digits: 0, of: (round) => round.serverMegabytes },
  ];

function report(contestants: readonly Contestant[]): void {
  const [bare] = contestants;
  for (const { title, digits, of } of COLUMNS) {
    console.log(`\n${title}`);
    for (const contestant of contestants) {
      // The frames of the bare server have a fixed time, so its delay means nothing.
      if (contestant === bare && title.startsWith('delay')) continue;
      const values = contestant.rounds.map((round, index) => of(round, bare.rounds[index]));
      console.log(`  ${contestant.name.padEnd(32)}${formatSpread(spreadOf(values), digits)}`);
    }
  }
}

async function benchPush(
  contestants: readonly Contestant[],
  setting: RoundSetting,
  rounds: number,
): Promise<Goal[]> {
  for (let round = 0; round < rounds; round++) {
    for (const contestant of contestants) {
      contestant.rounds.push(await measureRound(contestant.start, setting));
    }
  }
  report(contestants);
  return goalsOf(contestants);
}

/** Returns the goals of the contestant that sends as often as it can. */
function goalsOf([bare, ours]: readonly Contestant[]): Goal[] {
  const ratios = (of: (round: PushRound) => number) =>
    ours.rounds.map((round, index) => of(round) / of(bare.rounds[index]));
  return [
    atLeast(
      'updates/s beside ws',
      0.6,
      ratios((round) => round.updatesPerSecond),
    ),
    atMost('processor time of an update, saturated, beside ws', 2, ratios(microsecondsPerUpdate)),
    atMost(
      'memory beside ws',
      2,
      ratios((round) => round.serverMegabytes),
    ),
  ];
}

/** Returns a frame that is as long as a typical frame. */
function typicalFrame(state: StateView, user: string): string {
  const question = parseQuestion({ type: 'clearinghouseState', user });
  const { height, time } = state;
  const provenance = { height, time, accountTime: -1, isFromUpstream: false };
  const { before, after } = createStateFormat(question);
  return `${before}${findTypicalAnswer(state)}${after(provenance)}`;
}

async function run({ folder }: Bench, scale: Scale): Promise<Goal[]> {
  const { accounts, connections, rounds } = scale;
  const options = { seed: 'bench', accounts, positionsPerAccount: POSITIONS_PER_ACCOUNT };
  const live = await createLiveLedger(folder, options);
  const users = usersOf(live.state);
  const frame = typicalFrame(live.state, users[0]);
  writeFileSync(path.join(folder, 'frame.json'), frame);
  const subscriptions = connections * SUBSCRIPTIONS_EACH;
  console.log(`${accounts} accounts of ${POSITIONS_PER_ACCOUNT} positions; ten blocks a second`);
  console.log('move all marks; the exchange runs in this process, the server and the clients');
  console.log('in one of their own each: they share the cores');
  console.log(`${connections} connections, ${subscriptions} subscriptions to random users`);
  console.log(`a typical frame has ${frame.length} bytes; ${rounds} rounds of ${scale.seconds} s`);
  const secret = await createKey(folder);
  const sizes = { connections, each: SUBSCRIPTIONS_EACH };
  const wishes = drawWishes('bench', { users, dexes: [''] }, sizes);
  live.run();
  const goals: Goal[] = [];
  const few = { folder, users, secret, connections, rounds, scale, nodeFlags: listNodeFlags() };
  try {
    const contestants = createContestants(folder, subscriptions);
    goals.push(...(await benchPush(contestants, { scale, secret, wishes }, rounds)));
    goals.push(...(await benchKeptRate(few)));
  } finally {
    await live.close();
  }
  return [...goals, ...(await benchFewChanges(few))];
}

const scale = values.quick ? QUICK : FULL;
requireOpenFiles(scale.connections);
await runBench((bench) => run(bench, scale));
