/**
 * Measures what following a live exchange saves and costs, with the stub exchange of the tests:
 *
 *   npm run bench:follow              dashboards, cost, partial and disk, in some minutes
 *   npm run bench:follow -- --quick   in short rounds: a trial run
 *   npm run bench:follow -- ages      only the part ages: how old accounts become on a budget
 *   npm run bench:follow -- disk      only the part disk: bytes a day for 1 to 1,000 accounts
 *
 * Follower, service, exchange and load share the machine's cores.
 */

import { parseArgs } from 'node:util';
import { announce, type Bench, runBench, withBench } from '../frame/frame.ts';
import type { Goal } from '../frame/report.ts';
import { requireTools } from '../frame/required-tools.ts';
import { type AgesScale, benchAges } from './ages.ts';
import { benchCost, type CostScale } from './cost.ts';
import { benchDashboards, type DashboardsScale } from './dashboards.ts';
import { benchDisk, type DiskScale } from './disk.ts';
import { benchPartial, type PartialScale } from './partial.ts';

const EXIT_USAGE = 2;

interface Scale {
  readonly dashboards: DashboardsScale;
  readonly cost: CostScale;
  readonly partial: PartialScale;
  readonly ages: AgesScale;
  readonly disk: DiskScale;
}

/** More accounts hold positions in more markets. */
const DISK_CASES = [
  { accounts: 1, markets: 5 },
  { accounts: 10, markets: 20 },
  { accounts: 100, markets: 60 },
  { accounts: 1000, markets: 150 },
].map((sizes) => ({ ...sizes, positions: 5, tradesPerHour: 2 }));

const FULL: Scale = {
  dashboards: { dashboards: 1000, accounts: 100, rounds: 3, warmUpSeconds: 5, seconds: 20 },
  cost: { accounts: 400, rounds: 3, seconds: 15 },
  partial: {
    accounts: 20_000,
    rounds: { rounds: 5, roundSeconds: 3, warmUpSeconds: 2 },
  },
  ages: {
    cases: [
      { accounts: 100, budget: 1200 },
      { accounts: 400, budget: 1200 },
      { accounts: 1000, budget: 1200 },
      { accounts: 2000, budget: 1200 },
      { accounts: 2000, budget: 5000 },
    ],
    minutes: 80,
    steadyMinutes: 20,
  },
  disk: { cases: DISK_CASES, warmUpMinutes: 10, minutes: 60 },
};

const QUICK: Scale = {
  dashboards: { dashboards: 200, accounts: 20, rounds: 1, warmUpSeconds: 1, seconds: 3 },
  cost: { accounts: 40, rounds: 1, seconds: 3 },
  partial: { accounts: 1000, rounds: { rounds: 1, roundSeconds: 1, warmUpSeconds: 1 } },
  ages: { cases: [{ accounts: 100, budget: 300 }], minutes: 12, steadyMinutes: 4 },
  disk: { cases: DISK_CASES.slice(0, 2), warmUpMinutes: 2, minutes: 10 },
};

const { values, positionals } = parseArgs({
  options: { quick: { type: 'boolean', default: false } },
  allowPositionals: true,
});

type Measure = (bench: Bench, scale: Scale) => Promise<Goal[]>;

const PARTS: Readonly<Record<string, Measure>> = {
  dashboards: (bench, scale) => benchDashboards(bench, scale.dashboards),
  cost: (bench, scale) => benchCost(bench, scale.cost),
  partial: (bench, scale) => benchPartial(bench, scale.partial),
  ages: (bench, scale) => benchAges(bench, scale.ages),
  disk: (bench, scale) => benchDisk(bench, scale.disk),
};
const DEFAULT_PARTS = ['dashboards', 'cost', 'partial', 'disk'];
/** The parts that run on a virtual clock, and need no load program. */
const ALONE: readonly string[] = ['ages', 'disk'];

const unknown = positionals.filter((name) => !Object.hasOwn(PARTS, name));
if (unknown.length > 0) {
  console.error(`no part ${unknown.join(', ')}; expected ${Object.keys(PARTS).join(', ')}`);
  process.exit(EXIT_USAGE);
}
const names = positionals.length === 0 ? DEFAULT_PARTS : positionals;
if (names.some((name) => !ALONE.includes(name))) requireTools('wrk');
await runBench(async () => {
  const goals: Goal[] = [];
  for (const name of names) {
    announce(name);
    goals.push(...(await withBench((part) => PARTS[name](part, values.quick ? QUICK : FULL))));
  }
  return goals;
});
