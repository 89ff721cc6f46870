/**
 * Runs seeds of the fault simulator, and prints the number of faults and checks. After a violation
 * the program ends, and prints the seed that repeats the violation.
 */

import { parseArgs } from 'node:util';
import { SEED } from '../harness/seed.ts';
import { Report } from './report.ts';
import { runSeed, WORLDS, type World } from './run-seed.ts';

const PROGRESS_MS = 10_000;
/**
 * The worlds of ten seeds: one on NATS, whose runs take longer, and two on a disk that damages its
 * data.
 */
const TEN_SEEDS = 'venue venue venue venue disk venue venue venue disk nats';
const TURNS = TEN_SEEDS.split(' ') as readonly World[];

const USAGE = `npm run simulate-faults -- [flags]

Runs simulated machines that fail, and holds what they do against what is promised.

  --seeds N       so many runs (default: 100)
  --minutes N     runs for so long
  --seed SEED     one run again, such as venue/fixed/7
  --world WORLD   only runs of one kind: ${WORLDS.join(', ')}
  --help          this text

PERPTEST_SEED=TEXT draws the same runs again. A violation ends it, and prints its seed.
`;

/** Returns the real time. The other clocks of this process are simulated while a seed runs. */
function realMs(): number {
  return Number(process.hrtime.bigint() / 1_000_000n);
}

interface Limits {
  readonly seeds: number;
  readonly endMs: number;
}

function readWorld(given: string | undefined): World | undefined {
  const world = WORLDS.find((each) => each === given);
  if (given !== undefined && world === undefined) {
    throw new Error(`--world: got ${given}, expected one of ${WORLDS.join(', ')}`);
  }
  return world;
}

/** Returns the number that a flag gives; returns 0 if the flag is absent. */
function readCount(flag: string, given: string | undefined): number {
  const count = Number(given ?? 0);
  if (Number.isFinite(count) && count >= 0) return count;
  throw new Error(`--${flag}: got ${given}, expected a number`);
}

/** Runs the seeds; returns false after a violation, which is printed. */
async function runAll({ seeds, endMs }: Limits, world: World | undefined): Promise<boolean> {
  const report = new Report();
  const startedMs = realMs();
  let shownMs = startedMs;
  for (let index = 0; index < seeds || realMs() < endMs; index++) {
    const result = await runSeed(`${world ?? TURNS[index % TURNS.length]}/${SEED}/${index}`);
    report.add(result);
    if (result.violation !== undefined) {
      process.stdout.write(report.describeViolation(result));
      return false;
    }
    if (realMs() - shownMs < PROGRESS_MS) continue;
    shownMs = realMs();
    process.stderr.write(`${report.runs} seeds, no violation so far\n`);
  }
  process.stdout.write(report.describe(realMs() - startedMs));
  return true;
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      seeds: { type: 'string' },
      minutes: { type: 'string' },
      seed: { type: 'string' },
      world: { type: 'string' },
      help: { type: 'boolean' },
    },
  });
  if (values.help) {
    process.stdout.write(USAGE);
    return;
  }
  const { seed, seeds, minutes } = values;
  if (seed !== undefined) {
    const report = new Report();
    const result = await runSeed(seed);
    report.add(result);
    process.stdout.write(result.violation ? report.describeViolation(result) : report.describe(0));
    process.exitCode = result.violation === undefined ? 0 : 1;
    return;
  }
  const isUnlimited = seeds === undefined && minutes === undefined;
  const limits = {
    seeds: isUnlimited ? 100 : readCount('seeds', seeds),
    endMs: realMs() + 60_000 * readCount('minutes', minutes),
  };
  process.exitCode = (await runAll(limits, readWorld(values.world))) ? 0 : 1;
}

await main();
