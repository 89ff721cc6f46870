/**
 * The frame of every benchmark. It prints the machine and the goals, creates a folder, and stops
 * everything that the benchmark has started.
 */

import { mkdtempSync, rmSync } from 'node:fs';
import { cpus, loadavg, tmpdir } from 'node:os';
import path from 'node:path';
import { type Goal, printGoals } from './report.ts';

/** A folder, and the cleanups that run when the benchmark is over, even if it fails. */
export class Bench {
  readonly folder = mkdtempSync(path.join(tmpdir(), 'perpinfo-bench-'));
  readonly #cleanups: (() => unknown)[] = [];

  /** Adds a cleanup. What was started last is stopped first. */
  after(clean: () => unknown): void {
    this.#cleanups.unshift(clean);
  }

  async keep<T extends { stop(): unknown }>(starting: Promise<T>): Promise<T> {
    const started = await starting;
    this.after(() => started.stop());
    return started;
  }

  async close(): Promise<void> {
    for (const clean of this.#cleanups) await clean();
    rmSync(this.folder, { recursive: true, force: true });
  }
}

export async function withBench<T>(work: (bench: Bench) => Promise<T>): Promise<T> {
  const bench = new Bench();
  try {
    return await work(bench);
  } finally {
    await bench.close();
  }
}

export function announce(what: string): void {
  console.log(`\n${what} (load average ${loadavg()[0].toFixed(1)})\n`);
}

/** Prints the machine, runs the benchmark, and prints which goals were met. */
export async function runBench(work: (bench: Bench) => Promise<readonly Goal[]>): Promise<void> {
  const startedMs = performance.now();
  const load = `load average ${loadavg()[0].toFixed(1)}`;
  console.log(`node ${process.version}, ${cpus().length} x ${cpus()[0].model}, ${load}`);
  console.log('rounds take turns; figures are medians, with the smallest and the largest');
  const goals = await withBench(work);
  if (goals.length > 0) {
    announce('Goals');
    printGoals(goals);
  }
  console.log(`\ntook ${((performance.now() - startedMs) / 60_000).toFixed(1)} minutes`);
}
