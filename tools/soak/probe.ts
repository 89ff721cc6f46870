/**
 * This file is loaded into every process of a soak (`node --import`). Every few seconds it writes
 * the resources that the process uses and the delay of its event loop, as a line of JSON to a file
 * for each process.
 */

import { appendFileSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { pathToFileURL } from 'node:url';
import { readOwnBytes } from '../harness/processes.ts';

export interface ProcessSample {
  /** The time of this machine's clock. */
  readonly timeMs: number;
  /** The memory of the process itself, without the files that it has mapped. */
  readonly ownMegabytes: number;
  readonly heapMegabytes: number;
  /** The buffers outside of the heap. */
  readonly externalMegabytes: number;
  readonly descriptors: number;
  /** The number of sockets, timers and requests that the event loop waits for. */
  readonly handles: number;
  /** The 99th percentile of the event loop's delay since the last sample. */
  readonly delayMs: number;
  /** The CPU time since the last sample, as a number of cores. */
  readonly cores: number;
}

const FOLDER_VARIABLE = 'SOAK_PROBE_FOLDER';
const SAMPLE_MS = 3_000;
const DELAY_TIMER_MS = 10;
const MEGA = 1e6;

/** Returns the environment of the processes to sample. */
export function probeVariables(folder: string): Record<string, string> {
  const script = pathToFileURL(import.meta.filename).href;
  return { NODE_OPTIONS: `--import=${script}`, [FOLDER_VARIABLE]: folder };
}

/** Returns the samples that the processes have written, by process id. */
export function readProbes(folder: string): Map<number, ProcessSample[]> {
  const samples = readdirSync(folder).map((name): [number, ProcessSample[]] => {
    const lines = readFileSync(path.join(folder, name), 'utf8').split('\n').slice(0, -1);
    return [Number.parseInt(name, 10), lines.map((line) => JSON.parse(line))];
  });
  return new Map(samples);
}

function writeSamples(folder: string): void {
  const file = path.join(folder, `${process.pid}.ndjson`);
  const delays = monitorEventLoopDelay({ resolution: DELAY_TIMER_MS });
  delays.enable();
  let before = process.cpuUsage();
  let beforeMs = performance.now();
  const takeSample = (): ProcessSample => {
    const { heapUsed, external } = process.memoryUsage();
    const used = process.cpuUsage(before);
    const passedMs = performance.now() - beforeMs;
    before = process.cpuUsage();
    beforeMs = performance.now();
    // The recorded value is the time between two calls of a timer, so the timer's interval is
    // subtracted.
    const delayMs = Math.max(0, delays.percentile(99) / 1e6 - DELAY_TIMER_MS);
    delays.reset();
    return {
      timeMs: Date.now(),
      ownMegabytes: readOwnBytes('self') / MEGA,
      heapMegabytes: heapUsed / MEGA,
      externalMegabytes: external / MEGA,
      descriptors: readdirSync('/proc/self/fd').length,
      handles: process.getActiveResourcesInfo().length,
      delayMs,
      cores: (used.user + used.system) / 1000 / passedMs,
    };
  };
  setInterval(() => {
    appendFileSync(file, `${JSON.stringify(takeSample())}\n`);
  }, SAMPLE_MS).unref();
}

const folder = process.env[FOLDER_VARIABLE];
if (folder !== undefined) writeSamples(folder);
