/**
 * `npm run soak`: runs the soak for the requested time, and prints its figures as a table and its
 * curves as a picture.
 *
 *   node build/tools/soak/command.js [--minutes N] [--seed TEXT] [--picture FILE.svg] [--samples FILE.json]
 */

import { writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import type { LoadReport } from './load.ts';
import { drawSoak } from './picture.ts';
import { countAnswers, Soak, type SoakResult } from './soak.ts';
import { FIGURES, type Growth, judgeGrowth, median } from './verdict.ts';

const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '60' },
    seed: { type: 'string', default: 'soak' },
    picture: { type: 'string' },
    samples: { type: 'string' },
  },
});
const minutes = Number(values.minutes);
if (!(minutes >= 1)) {
  console.error(`--minutes: got ${values.minutes}, expected 1 or more`);
  process.exit(2);
}

const VERDICTS: Readonly<Record<string, string>> = {
  ...{ true: '', false: ' TOO MUCH', undefined: ' (not judged: the machine was busy)' },
};

/** Returns the row of a process, with the old and the new value of each figure. */
function formatRow(role: string, growths: readonly Growth[]): string {
  const cells = FIGURES.map(({ name }) => {
    const growth = growths.find((one) => one.role === role && one.figure.name === name);
    if (growth === undefined) return '';
    const { before, after, isWithin } = growth;
    return `${before.toFixed(1)} → ${after.toFixed(1)}${VERDICTS[String(isWithin)]}`;
  });
  return `| ${[role, ...cells].join(' | ')} |`;
}

function printCounts({ counts }: LoadReport): void {
  const kinds = new Map<string, string[]>();
  for (const [what, count] of Object.entries(counts).sort()) {
    const [kind, status] = what.split(' ');
    kinds.set(kind, [...(kinds.get(kind) ?? []), `${status}: ${count}`]);
  }
  for (const [kind, parts] of kinds) console.log(`  ${kind}: ${parts.join(', ')}`);
}

function printResult(result: SoakResult, growths: readonly Growth[]): void {
  const { samplesByRole, reports, blocks, kills, faultPlans, violations } = result;
  const titles = FIGURES.map(({ title, unit }) => (unit === '' ? title : `${title} (${unit})`));
  console.log(
    '\nMedians, of descriptors and handles the lowest tenth, of the second quarter → of the last:\n',
  );
  console.log(`| process | ${titles.join(' | ')} |`);
  console.log(`|${'---|'.repeat(titles.length + 1)}`);
  for (const role of samplesByRole.keys()) console.log(formatRow(role, growths));
  const last = reports.at(-1) ?? { counts: {}, violations: [] };
  const perSecond = countAnswers(last) / (60 * minutes);
  console.log(`\n${countAnswers(last)} answers and states, ${perSecond.toFixed(0)} a second:`);
  printCounts(last);
  console.log(`${blocks} blocks, ${kills} workers killed, ${faultPlans} plans of faults`);
  for (const [role, samples] of samplesByRole) {
    const cores = median(samples.map((sample) => sample.cores));
    console.log(`  ${role}: ${samples.length} samples, ${(100 * cores).toFixed(0)} % of a core`);
  }
  for (const violation of violations) console.log(`VIOLATION: ${violation}`);
}

/** Returns all samples, for a closer analysis. */
function formatSamples({ samplesByRole, ...result }: SoakResult): string {
  return JSON.stringify({ ...result, samplesByRole: Object.fromEntries(samplesByRole) });
}

const cleaning: (() => Promise<void> | void)[] = [];
const context = { after: (clean: () => Promise<void> | void) => void cleaning.push(clean) };
async function clean(): Promise<void> {
  for (const each of cleaning.splice(0).reverse()) await each();
}
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, () => void clean().then(() => process.exit(1)));
}

console.log(`a soak of ${minutes} minutes, seed ${values.seed}`);
try {
  const result = await Soak.run(context, { minutes, seed: values.seed, progress: console.log });
  const growths = judgeGrowth(result.samplesByRole, result.span);
  printResult(result, growths);
  if (values.picture !== undefined) writeFileSync(values.picture, drawSoak(result));
  if (values.samples !== undefined) writeFileSync(values.samples, formatSamples(result));
  const isGood =
    result.violations.length === 0 && growths.every(({ isWithin }) => isWithin !== false);
  console.log(isGood ? '\nwithin the limits' : '\nNOT within the limits');
  process.exitCode = isGood ? 0 : 1;
} finally {
  await clean();
}
