/**
 * Measures what each further worker costs, because each worker has the whole state: memory, the
 * start, and the processor time for following the ledger.
 *
 *   npm run bench:cores            with a million accounts
 *   npm run bench:cores -- 10000   with fewer
 */

import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { runBench, withBench } from '../frame/frame.ts';
import { cpuSecondsOfAll, rssAnonMegabytesOfAll } from '../frame/process-usage.ts';
import { printTable } from '../frame/report.ts';
import { BLOCKS_PER_SECOND, startWriter } from '../load/writer.ts';
import { createKey, PATIENCE } from '../servers/exchange.ts';
import { type RunningServer, startPerpinfo } from '../servers/servers.ts';
import { runMillionStep } from './start.ts';

const ACCOUNTS = Number(process.argv[2] ?? 1_000_000);
const WORKERS = [1, 2, 4, 8];
const EVENTS_PER_SECOND = [1000, 5000];
/** The time until the work after a start is over. */
const SETTLE_MS = 3000;
const MEASURED_MS = 10_000;

/** Returns the processor time a second, in cores. */
async function measureCores({ pid }: RunningServer): Promise<number> {
  await sleep(SETTLE_MS);
  const before = cpuSecondsOfAll(pid);
  const startedMs = performance.now();
  await sleep(MEASURED_MS);
  return ((cpuSecondsOfAll(pid) - before) * 1000) / (performance.now() - startedMs);
}

/** Returns the row of the table for this number of workers. */
function measureWorkers(directory: string, workers: number): Promise<string[]> {
  return withBench(async (bench) => {
    const startedMs = performance.now();
    const server = await bench.keep(startPerpinfo(directory, { workers, flags: PATIENCE }));
    const startSeconds = (performance.now() - startedMs) / 1000;
    const following: number[] = [];
    for (const rate of EVENTS_PER_SECOND) {
      const cores = await withBench(async (writing) => {
        await writing.keep(startWriter(directory, rate / BLOCKS_PER_SECOND));
        return measureCores(server);
      });
      following.push(cores);
    }
    const megabytes = rssAnonMegabytesOfAll(server.pid);
    // This is measured last, when the work after the start is certainly over.
    following.push(await measureCores(server));
    const cores = following.map((each) => each.toFixed(3));
    return [String(workers), startSeconds.toFixed(1), megabytes.toFixed(0), ...cores];
  });
}

await runBench(async ({ folder }) => {
  const directory = path.join(folder, 'million');
  runMillionStep('build', directory, String(ACCOUNTS));
  await createKey(directory);
  const rows: string[][] = [];
  for (const workers of WORKERS) rows.push(await measureWorkers(directory, workers));
  const following = [...EVENTS_PER_SECOND, 'no'].map((rate) => `cores at ${rate} events/s`);
  console.log(`${ACCOUNTS} accounts; memory and cores of all workers together`);
  printTable(['workers', 'start until all answer, s', 'memory, MB', ...following], rows);
  return [];
});
