/**
 * `npm run test:kills`: kills every kind of process at random moments, and prints a report.
 *
 *   node build/tools/kill-runner/command.js [--kills N] [--seed TEXT]
 */

import { parseArgs } from 'node:util';
import { type KillReport, KillRun } from './kill-run.ts';

const { values } = parseArgs({
  options: {
    kills: { type: 'string', default: '300' },
    seed: { type: 'string', default: String(Date.now()) },
  },
});
const kills = Number(values.kills);
if (!Number.isSafeInteger(kills) || kills < 1) {
  console.error(`--kills: got ${values.kills}, expected a whole number from 1 on`);
  process.exit(2);
}

function printReport(report: KillReport): void {
  const rows = [
    ...Object.entries(report.killsByKind).map(([kind, count]) => [`kills of a ${kind}`, count]),
    ['kills while something was still coming back', report.hasty],
    ['blocks acknowledged, all there with their hashes', report.acknowledged],
    ['answers', report.answers],
    ['states pushed', report.states],
    ['answers and states compared with a replay', report.compared],
    ['of them also with query --at', report.queried],
    ["the follower's answers, all compared with the exchange", report.followerAnswers],
    ["heads of the follower's ledger seen, all still there", report.heads],
    ['refusals (503) while a service came back', report.refusals],
    ['requests and push connections that a kill cut or kept out', report.lost],
    ['violations', report.violations.length],
  ];
  console.log('\n| | |\n|---|---|');
  for (const [what, count] of rows) console.log(`| ${what} | ${count.toLocaleString('en')} |`);
  for (const violation of report.violations) console.log(`VIOLATION: ${violation}`);
}

const cleaning: (() => Promise<void> | void)[] = [];
const context = { after: (clean: () => Promise<void> | void) => void cleaning.push(clean) };
async function clean(): Promise<void> {
  for (const each of cleaning.splice(0).reverse()) await each();
}
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, () => void clean().then(() => process.exit(1)));
}

console.log(`${kills} kills, seed ${values.seed}`);
const startedMs = performance.now();
try {
  const report = await KillRun.run(context, { kills, seed: values.seed, progress: console.log });
  printReport(report);
  console.log(`\nin ${((performance.now() - startedMs) / 60_000).toFixed(1)} minutes`);
  process.exitCode = report.violations.length === 0 ? 0 : 1;
} finally {
  await clean();
}
