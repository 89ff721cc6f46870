/**
 * Measures what serving a million accounts takes: memory, and the time from the start of the
 * process to the first answer over HTTP. The reference for the time only reads the snapshot's bytes
 * into memory, in a process that already runs. Both find the file in the system's cache.
 */

import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from '../../tools/harness/running.ts';
import { spreadOf } from '../frame/measure.ts';
import { rssAnonMegabytes } from '../frame/process-usage.ts';
import { atMost, formatSpread, type Goal, printTable } from '../frame/report.ts';
import { Wrk } from '../load/wrk.ts';
import { askForAccount, createKey, PATIENCE } from '../servers/exchange.ts';
import { type RunningServer, startPerpinfo } from '../servers/servers.ts';

const ASK_AGAIN_MS = 5;
const MEGABYTES_MAX = 450;

export interface StartScale {
  readonly accounts: number;
  readonly rounds: number;
  /** The time for which each server has load before its memory is measured. */
  readonly loadSeconds: number;
}

/**
 * Runs a step of million.ts in a separate process, and returns its result: the last line of its
 * output.
 */
export function runMillionStep(...args: string[]) {
  const script = path.join(import.meta.dirname, 'million.js');
  const { status, stdout } = spawnSync(process.execPath, [script, ...args], {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  if (status !== 0) throw new Error(`the step ${args[0]} failed`);
  return JSON.parse(stdout.trim().split('\n').at(-1) ?? '');
}

interface Started {
  readonly server: RunningServer;
  readonly seconds: number;
}

/**
 * Starts a server, and asks it about an account until there is an answer. Before that the server
 * refuses the question.
 */
async function startUntilAnswer(
  directory: string,
  requestPath: string,
  user: string,
): Promise<Started> {
  const startedMs = performance.now();
  const server = await startPerpinfo(directory, { workers: 1, flags: PATIENCE, isAwaited: false });
  const client = new Client(server.port);
  const headers = { 'Content-Type': 'application/json' };
  const asked = { method: 'POST', path: requestPath, headers, body: askForAccount(user) };
  while ((await client.send(asked)).status !== 200) await sleep(ASK_AGAIN_MS);
  const seconds = (performance.now() - startedMs) / 1000;
  client.close();
  return { server, seconds };
}

export async function benchStart(folder: string, scale: StartScale): Promise<Goal[]> {
  const directory = path.join(folder, 'million');
  runMillionStep('build', directory, String(scale.accounts));
  const users = readFileSync(path.join(directory, 'users.txt'), 'utf8').split('\n');
  const requestPath = `/${await createKey(directory)}/info`;
  const bodies = users.map(askForAccount);
  const wrk = new Wrk({ folder, name: 'million', bodies, requestPath });
  const starts: number[] = [];
  const reads: number[] = [];
  const megabytes: number[] = [];
  let bytes = 0;
  for (let round = 0; round < scale.rounds; round++) {
    const read = runMillionStep('read', directory);
    bytes = read.bytes;
    reads.push(read.seconds);
    const { server, seconds } = await startUntilAnswer(directory, requestPath, users[0]);
    starts.push(seconds);
    try {
      await wrk.load(server.port, scale.loadSeconds);
      megabytes.push(rssAnonMegabytes(server.pid));
    } finally {
      await server.stop();
    }
  }
  const size = (bytes / 1e6).toFixed(0);
  printTable(
    [`${scale.accounts} accounts, a snapshot of ${size} MB`, 'median [smallest to largest]'],
    [
      ['read the file, s', formatSpread(spreadOf(reads), 2)],
      ['start of the process to first answer, s', formatSpread(spreadOf(starts), 2)],
      [`RssAnon after ${scale.loadSeconds} s of load, MB`, formatSpread(spreadOf(megabytes), 0)],
    ],
  );
  const ratios = starts.map((seconds, index) => seconds / reads[index]);
  return [
    atMost(`memory of ${scale.accounts} accounts, serving`, MEGABYTES_MAX, megabytes, ' MB'),
    atMost('start to first answer / reading the snapshot', 6, ratios),
  ];
}
