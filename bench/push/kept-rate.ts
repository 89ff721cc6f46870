/**
 * Measures what an update costs at a rate that the server can sustain. Each connection has two
 * subscriptions, and each subscription has four updates a second. The reference is a bare WebSocket
 * server that sends fixed frames at the same rate. The cost of following the ledger without any
 * client is measured separately, and left out.
 */

import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { drawWishes } from '../../test/push/crowd.ts';
import { spreadOf } from '../frame/measure.ts';
import { cpuSeconds } from '../frame/process-usage.ts';
import { atMost, formatSpread, type Goal, printTable } from '../frame/report.ts';
import { type RunningServer, startFixedPush, startPerpinfo } from '../servers/servers.ts';
import {
  measureRound,
  microsecondsPerUpdate,
  type PushBenchOptions,
  type RoundScale,
} from './round.ts';

const SUBSCRIPTIONS_EACH = 2;
const INTERVAL_MS = 250;
const RATIO_MAX = 1.7;
/**
 * The warm-up is longer, because a server with little work takes most of a minute until the engine
 * has compiled all of its code.
 */
const WARM_UP_FACTOR = 16;

export async function benchKeptRate(options: PushBenchOptions): Promise<Goal[]> {
  const { folder, users, secret, connections, rounds, nodeFlags = [] } = options;
  const warmUpSeconds = options.scale.warmUpSeconds * WARM_UP_FACTOR;
  const scale = { ...options.scale, warmUpSeconds };
  const sizes = { connections, each: SUBSCRIPTIONS_EACH };
  const setting = { scale, secret, wishes: drawWishes('kept rate', { users, dexes: [''] }, sizes) };
  const frame = path.join(folder, 'frame.json');
  const startBare = () => startFixedPush(frame, connections * SUBSCRIPTIONS_EACH, INTERVAL_MS);
  const flags = ['--push-interval', String(INTERVAL_MS), '--overload-delay', '60000'];
  const bare: number[] = [];
  const ours: number[] = [];
  const start = () => startPerpinfo(folder, { workers: 1, flags, nodeFlags });
  const followingCpu = await measureFollowing(start, scale);
  for (let round = 0; round < rounds; round++) {
    bare.push(microsecondsPerUpdate(await measureRound(startBare, setting)));
    const measured = await measureRound(start, setting);
    const serverCpu = measured.serverCpu - followingCpu;
    ours.push(microsecondsPerUpdate({ ...measured, serverCpu }));
  }
  console.log(
    `\n${connections} connections with ${SUBSCRIPTIONS_EACH} subscriptions, four times a second`,
  );
  printTable(
    ['', 'µs of processor an update'],
    [
      ['ws, fixed frames', formatSpread(spreadOf(bare), 1)],
      ['perpinfo', formatSpread(spreadOf(ours), 1)],
    ],
  );
  console.log(`following the ledger, left out: ${followingCpu.toFixed(2)} cores`);
  const ratios = ours.map((value, index) => value / bare[index]);
  return [atMost('processor time of an update at a kept rate, beside ws', RATIO_MAX, ratios)];
}

/** Returns the share of a core that a server uses without any client. */
async function measureFollowing(
  start: () => Promise<RunningServer>,
  { warmUpSeconds, seconds }: RoundScale,
): Promise<number> {
  const server = await start();
  try {
    await sleep(warmUpSeconds * 1000);
    const before = cpuSeconds(server.pid);
    await sleep(seconds * 1000);
    return (cpuSeconds(server.pid) - before) / seconds;
  } finally {
    await server.stop();
  }
}
