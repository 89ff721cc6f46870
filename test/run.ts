/**
 * Runs the suites (test/suites.ts), some side by side, each within its time budget. The output of a suite
 * is shown if it fails, always in CI and with --verbose. A failure does not stop the others: one run
 * shows everything that is wrong. A suite that failed runs again alone, and that result counts.
 *
 *   node build/test/run.js [--verbose] [suite ...]
 */

import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { SCHEMA_PARTS_FOLDER } from '../tools/harness/answer-checks.ts';
import { SEED } from '../tools/harness/seed.ts';
import { LINES_FOLDER } from '../tools/harness/simulated-lines.ts';
import { checkCoverage } from './coverage.ts';
import { isLongRun, ONLY_LONG } from './scale.ts';
import { checkSchemaParts } from './schema-parts.ts';
import { SUITES, type Suite } from './suites.ts';

/** Suites spend much of their time waiting for processes that they have started. */
const SUITES_AT_A_TIME = Math.min(2, availableParallelism()) + 1;

interface Result {
  suite: Suite;
  hasPassed: boolean;
  seconds: number;
  output: string;
}

const { values, positionals: wanted } = parseArgs({
  options: { verbose: { type: 'boolean', default: process.env['CI'] !== undefined } },
  allowPositionals: true,
});

/** Every suite gets the same seed, also when it runs again: a random case that failed fails again. */
const environment: NodeJS.ProcessEnv = { ...process.env, PERPTEST_SEED: String(SEED) };
// The tests talk to this machine alone, and reading a list of authorities triples the start of a process.
delete environment['NODE_EXTRA_CA_CERTS'];
/** Where processes of counted suites leave what they have counted. */
const counted = makeFolder('coverage');
environment[LINES_FOLDER] = makeFolder('lines');
/** Where processes leave the parts of schemas that they have seen in answers. */
const schemaParts = makeFolder('schema-parts');
environment[SCHEMA_PARTS_FOLDER] = schemaParts;

/** A folder that is removed at the end of the run. */
function makeFolder(name: string): string {
  const folder = mkdtempSync(path.join(tmpdir(), `perpinfo-${name}-`));
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** Process groups of the suites that run, so that nothing that a test started is left behind. */
const groups = new Set<number>();

function killGroup(pid: number): void {
  try {
    process.kill(-pid, 'SIGKILL');
  } catch {
    // It has ended by itself.
  }
}

for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, () => {
    for (const pid of groups) killGroup(pid);
    process.exit(1);
  });
}

/** Resolves when the suite has ended or its budget is spent. */
function runSuite(suite: Suite): Promise<Result> {
  const startedMs = Date.now();
  const [program, ...args] = suite.command;
  const output: Buffer[] = [];
  return new Promise((resolve) => {
    const stdio = ['ignore', 'pipe', 'pipe'] as const;
    const env = suite.isCounted ? { ...environment, NODE_V8_COVERAGE: counted } : environment;
    const child = spawn(program, args, { stdio: [...stdio], detached: true, env });
    if (child.pid !== undefined) groups.add(child.pid);
    for (const stream of [child.stdout, child.stderr]) {
      stream.on('data', (bytes: Buffer) => output.push(bytes));
    }
    const timer = setTimeout(() => {
      output.push(Buffer.from(`stopped: over its budget of ${suite.budgetSeconds} s\n`));
      if (child.pid !== undefined) killGroup(child.pid);
    }, suite.budgetSeconds * 1000);
    child.on('close', (code) => {
      clearTimeout(timer);
      if (child.pid !== undefined) groups.delete(child.pid);
      const seconds = (Date.now() - startedMs) / 1000;
      resolve({ suite, hasPassed: code === 0, seconds, output: String(Buffer.concat(output)) });
    });
  });
}

/** Counts that node:test prints in its closing lines. */
function countOf(what: 'tests' | 'skipped', output: string): number {
  return Number(new RegExp(`^ℹ ${what} (\\d+)$`, 'm').exec(output)?.[1] ?? 0);
}

/** What node:test says of tests that belong to the other run. */
const NO_REASONS = [ONLY_LONG, "'only' option not set", 'SKIP'];

/** Why tests were skipped, other than because they belong to the other run. */
function skipReasons(output: string): string[] {
  const reasons = [...output.matchAll(/^\s*﹣ .* # (.+)$/gm)].map(([, reason]) => reason);
  return [...new Set(reasons)].filter((reason) => !NO_REASONS.includes(reason));
}

function formatRow({ suite, hasPassed, seconds, output }: Result): string {
  const [tests, skipped] = [countOf('tests', output), countOf('skipped', output)];
  const verdict = hasPassed ? 'passed' : 'FAILED';
  const row = `${suite.name.padEnd(10)} ${verdict} ${seconds.toFixed(1).padStart(6)} s`;
  if (tests === 0) return row;
  return `${row} ${String(tests).padStart(5)} tests${skipped > 0 ? `, ${skipped} skipped` : ''}`;
}

function report(result: Result): void {
  const { suite, hasPassed, output } = result;
  if (values.verbose || !hasPassed) {
    console.log(`\n== ${suite.name} (at most ${suite.budgetSeconds} s)\n${output}`);
  }
  console.log(formatRow(result));
  for (const reason of skipReasons(output)) console.log(`  skipped: ${reason}`);
}

function isLeftOut({ name, needs }: Suite): boolean {
  if (needs === undefined || process.env['CI'] !== undefined || needs.isThere()) return false;
  console.log(`${name.padEnd(10)} left out: it needs ${needs.what}`);
  return true;
}

/** Runs the suites, so many at a time. */
async function runAll(suites: readonly Suite[], atATime: number): Promise<Result[]> {
  const queue = [...suites];
  const results: Result[] = [];
  async function work(): Promise<void> {
    for (let suite = queue.shift(); suite !== undefined; suite = queue.shift()) {
      const result = await runSuite(suite);
      report(result);
      results.push(result);
    }
  }
  await Promise.all(Array.from({ length: atATime }, work));
  return results;
}

/** Stacks then name lines of the sources. To read the maps takes every process a while: only if needed. */
function withSourceMaps(command: readonly string[]): string[] {
  const node = command.indexOf(process.execPath);
  return node < 0 ? [...command] : command.toSpliced(node + 1, 0, '--enable-source-maps');
}

/** What fails only while another suite takes the processors says little about the program. */
async function runAgain(failed: readonly Result[]): Promise<Result[]> {
  const results: Result[] = [];
  for (const { suite } of failed) {
    console.log(`\n== ${suite.name} runs again, alone`);
    const result = await runSuite({ ...suite, command: withSourceMaps(suite.command) });
    report(result);
    results.push(result);
  }
  return results;
}

function printSummary(results: readonly Result[], leftOut: number): void {
  const failed = results.filter(({ hasPassed }) => !hasPassed);
  const passed = results.length - failed.length;
  console.log(`suites: ${passed} passed, ${failed.length} failed, ${leftOut} left out`);
  if (failed.length === 0) return;
  console.log(`failed: ${failed.map(({ suite }) => suite.name).join(', ')}`);
  console.log(`to repeat: PERPTEST_SEED=${SEED} ${isLongRun ? 'npm run test:long' : 'npm test'}`);
}

const unknown = wanted.filter((name) => !SUITES.some((suite) => suite.name === name));
if (unknown.length > 0) {
  console.error(
    `no such suite: ${unknown.join(', ')}; there are ${SUITES.map(({ name }) => name).join(', ')}`,
  );
  process.exit(2);
}
const startedMs = Date.now();
const chosen = SUITES.filter(({ name }) => wanted.length === 0 || wanted.includes(name));
const present = chosen.filter((suite) => !isLeftOut(suite));
console.log(`${present.length} suites, ${SUITES_AT_A_TIME} at a time, PERPTEST_SEED=${SEED}`);
const first = [
  ...(await runAll(
    present.filter(({ isAlone }) => !isAlone),
    SUITES_AT_A_TIME,
  )),
  ...(await runAll(
    present.filter(({ isAlone }) => isAlone),
    1,
  )),
];
const again = await runAgain(first.filter(({ hasPassed }) => !hasPassed));
const results = [...first.filter(({ hasPassed }) => hasPassed), ...again];

console.log(`\n${results.length} suites in ${((Date.now() - startedMs) / 1000).toFixed(0)} s:`);
for (const result of results.sort((a, b) => b.seconds - a.seconds)) console.log(formatRow(result));
if (again.length > 0) {
  console.log(`run again alone: ${again.map(({ suite }) => suite.name).join(', ')}`);
}
const hasPassed = results.every((result) => result.hasPassed);
const countedSuites = SUITES.filter(({ isCounted }) => isCounted);
// Some of the suites alone say nothing about how much all of them cover.
const isCovered =
  !hasPassed ||
  countedSuites.length === 0 ||
  countedSuites.some((suite) => !present.includes(suite)) ||
  checkCoverage(counted);
const isWholeRun = wanted.length === 0 && !isLongRun && present.length === chosen.length;
const hasAllParts = !hasPassed || !isWholeRun || checkSchemaParts(schemaParts);
printSummary(results, chosen.length - present.length);
process.exitCode = hasPassed && isCovered && hasAllParts ? 0 : 1;
