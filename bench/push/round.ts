/** Runs one round of a push benchmark, with a new server and new clients. */

import { setTimeout as sleep } from 'node:timers/promises';
import type { Wish } from '../../test/push/crowd.ts';
import { cpuSeconds, rssAnonMegabytes } from '../frame/process-usage.ts';
import type { RunningServer } from '../servers/servers.ts';
import { type Received, startClients } from './clients.ts';

export interface RoundScale {
  readonly warmUpSeconds: number;
  readonly seconds: number;
}

/**
 * The ledger, the users and connections of the subscriptions, and the number and length of the
 * rounds.
 */
export interface PushBenchOptions {
  readonly folder: string;
  readonly users: readonly string[];
  readonly secret: string;
  readonly connections: number;
  readonly rounds: number;
  readonly scale: RoundScale;
  /** The flags of node for the server. */
  readonly nodeFlags?: readonly string[];
}

/** The settings that all rounds have in common. */
export interface RoundSetting {
  readonly scale: RoundScale;
  readonly secret: string;
  readonly wishes: Wish[][];
}

export interface PushRound extends Received {
  /** The processor time of the server, as a share of one core. */
  readonly serverCpu: number;
  readonly clientsCpu: number;
  readonly serverMegabytes: number;
}

export async function measureRound(
  start: () => Promise<RunningServer>,
  { scale, secret, wishes }: RoundSetting,
): Promise<PushRound> {
  const server = await start();
  try {
    const clients = await startClients({ port: server.port, secret, wishes });
    try {
      await sleep(scale.warmUpSeconds * 1000);
      const cpu = () => ({ server: cpuSeconds(server.pid), clients: cpuSeconds(clients.pid) });
      const before = cpu();
      const startedMs = performance.now();
      const received = await clients.measure(scale.seconds);
      const seconds = (performance.now() - startedMs) / 1000;
      const after = cpu();
      return {
        ...received,
        serverCpu: (after.server - before.server) / seconds,
        clientsCpu: (after.clients - before.clients) / seconds,
        serverMegabytes: rssAnonMegabytes(server.pid),
      };
    } finally {
      clients.stop();
    }
  } finally {
    await server.stop();
  }
}

/** Returns the processor time of the server for each update, in microseconds. */
export function microsecondsPerUpdate({ serverCpu, updatesPerSecond }: PushRound): number {
  return (1e6 * serverCpu) / updatesPerSecond;
}
