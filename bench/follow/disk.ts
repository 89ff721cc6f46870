/**
 * Measures what a follower writes to the disk in a day, at the real rate of marks. An hour on a
 * virtual clock is written to a real ledger and a real archive, and each block is synced. The files
 * are in memory if the system has a place for them there; their size is the same. A day has 24
 * times the bytes of this hour.
 */

import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { VirtualClock } from '../../test/follow/virtual-clock.ts';
import type { Bench } from '../frame/frame.ts';
import { type Goal, printTable } from '../frame/report.ts';
import { DiskFollower, type DiskUse } from './disk-follower.ts';
import { type RealRate, RealRateExchange } from './real-rate-exchange.ts';

export interface DiskScale {
  readonly cases: readonly RealRate[];
  /**
   * The minutes before the measurement. In these minutes, accounts are read for the first time, and
   * files reach their first size.
   */
  readonly warmUpMinutes: number;
  readonly minutes: number;
}

const MINUTE_MS = 60_000;
const DAY_MINUTES = 1_440;
const MB = 1e6;
const MONTH_DAYS = 30;
/** The days of blocks that a follower stores by default. */
const KEPT_DAYS = 7;
/** The goal for 10 accounts, in MB a day. */
const GOAL_MB = 60;
const GOAL_ACCOUNTS = 10;

/** The figures of a day: blocks a second, and sizes in MB. */
interface Day {
  readonly blocks: number;
  readonly lines: number;
  readonly ledger: number;
  readonly archive: number;
}

const MEMORY = '/dev/shm';

export async function benchDisk(bench: Bench, scale: DiskScale): Promise<Goal[]> {
  const place = existsSync(MEMORY) ? MEMORY : tmpdir();
  const folder = mkdtempSync(path.join(place, 'perpinfo-bench-'));
  bench.after(() => rmSync(folder, { recursive: true }));
  const rows: string[][] = [];
  const goals: Goal[] = [];
  for (const rate of scale.cases) {
    const day = await measure(path.join(folder, `${rate.accounts}`), rate, scale);
    rows.push(describeDay(rate, day));
    if (rate.accounts === GOAL_ACCOUNTS) goals.push(describeGoal(day));
  }
  const titles = ['accounts', 'markets held', 'blocks/s', 'lines', 'ledger', 'archive'];
  const kept = `ledger of ${KEPT_DAYS} days`;
  console.log('megabytes a day, and what is kept:\n');
  printTable([...titles, 'both', kept, 'with an archive of a month'], rows);
  return goals;
}

async function measure(data: string, rate: RealRate, scale: DiskScale): Promise<Day> {
  const clock = new VirtualClock();
  const exchange = new RealRateExchange(clock, rate);
  const follower = await DiskFollower.start({ data, exchange, clock });
  await follower.advance(scale.warmUpMinutes * MINUTE_MS);
  const before = follower.use;
  const bytesBefore = { ...follower.bytesByType };
  await follower.advance(scale.minutes * MINUTE_MS);
  const after = follower.use;
  const days = scale.minutes / DAY_MINUTES;
  const byType = Object.entries(follower.bytesByType).map(([type, bytes]) => {
    return `${type} ${((bytes - (bytesBefore[type] ?? 0)) / days / MB).toFixed(1)}`;
  });
  console.error(`${follower.followed} accounts, MB a day by event: ${byType.join(', ')}`);
  await follower.stop();
  rmSync(data, { recursive: true });
  return perDay(before, after, days);
}

function perDay(before: DiskUse, after: DiskUse, days: number): Day {
  const megabytes = (key: keyof DiskUse) => (after[key] - before[key]) / days / MB;
  return {
    blocks: (after.blocks - before.blocks) / days / 86_400,
    lines: megabytes('lineBytes'),
    ledger: megabytes('ledgerBytes'),
    archive: megabytes('archiveBytes'),
  };
}

function describeDay({ accounts, markets }: RealRate, day: Day): string[] {
  const { blocks, lines, ledger, archive } = day;
  const kept = ledger * KEPT_DAYS;
  return [
    `${accounts}`,
    `${markets}`,
    blocks.toFixed(1),
    ...[lines, ledger, archive, ledger + archive].map((value) => value.toFixed(1)),
    kept.toFixed(0),
    (kept + archive * MONTH_DAYS).toFixed(0),
  ];
}

function describeGoal({ ledger, archive }: Day): Goal {
  const total = ledger + archive;
  return {
    figure: `MB a day for ${GOAL_ACCOUNTS} accounts, archive included`,
    measured: total.toFixed(1),
    goal: `at most ${GOAL_MB}`,
    isMet: total <= GOAL_MB,
  };
}
