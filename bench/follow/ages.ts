/**
 * Measures how old the accounts of a follower become if its budget is limited. The follower and the
 * exchange run in this process on a virtual clock, so that other work of the machine changes
 * nothing.
 */

import path from 'node:path';
import { type AgeSample, runBudget } from '../../test/follow/runs/budget-run.ts';
import type { Bench } from '../frame/frame.ts';
import { median } from '../frame/measure.ts';
import { type Goal, printTable } from '../frame/report.ts';

export interface AgesScale {
  readonly cases: readonly AgesCase[];
  /** The duration in minutes of the exchange's time. A full hour comes after 30 minutes. */
  readonly minutes: number;
  /** The last minutes, for which the ages are reported. */
  readonly steadyMinutes: number;
}

/** The number of accounts, and the budget in weight a minute. */
interface AgesCase {
  readonly accounts: number;
  readonly budget: number;
}

const SWEEP_MS = 60_000;
const BLOCK_MS = 10_000;

export async function benchAges({ folder }: Bench, scale: AgesScale): Promise<Goal[]> {
  const rows: string[][] = [];
  const { cases, minutes } = scale;
  for (const { accounts, budget } of cases) {
    const file = path.join(folder, `${accounts}-${budget}.ndjson`);
    const sizes = { sweepMs: SWEEP_MS, blockMs: BLOCK_MS, minutes };
    const { samples, windowMax, countByType } = await runBudget({
      file,
      accounts,
      budget,
      ...sizes,
    });
    rows.push([`${accounts}`, `${budget}`, ...describeAges(samples, scale), `${windowMax}`]);
    console.error(`${accounts} on ${budget}: ${JSON.stringify(countByType)}`);
  }
  const ages = ['half, s', '90 %, s', 'all, s', 'all, in the whole run, s'];
  printTable(['accounts', 'budget', 'all read after, min', ...ages, 'most in 60 s'], rows);
  return [];
}

function describeAges(samples: readonly AgeSample[], { steadyMinutes }: AgesScale): string[] {
  const steady = samples.slice(-steadyMinutes);
  const seconds = (ageMs: number) => (ageMs / 1000).toFixed(0);
  return [
    `${samples.find(({ unknown }) => unknown === 0)?.minute ?? 'never'}`,
    seconds(median(steady.map((sample) => sample.median))),
    seconds(median(steady.map((sample) => sample.p90))),
    seconds(Math.max(...steady.map((sample) => sample.max))),
    seconds(Math.max(...samples.map((sample) => sample.max))),
  ];
}
