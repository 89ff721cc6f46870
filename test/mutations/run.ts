/**
 * Mutation testing of the core: changes its code in thousands of small ways, one at a time, and runs the
 * tests that reach the change. A mutant that no test notices is a survivor: it wants a test, simpler
 * code, or a reason in equivalent.json. See USAGE for the options.
 */

import { readdirSync } from 'node:fs';
import path from 'node:path';
import { Random } from '../../src/feed/simulator/random.ts';
import { PROJECT } from '../paths.ts';
import {
  describeChange,
  type ExplainedMutant,
  isExplainedBy,
  readExplanations,
} from './explanations.ts';
import { createMutatedBuild, FOLDERS, listMutants, type Mutant } from './mutated-build.ts';
import { readOptions, USAGE } from './options.ts';
import type { Verdict } from './trial.ts';
import { noteTests, Trials } from './trials.ts';

/** Suites that need nothing but the core, and files like them of other suites. */
const SUITES = ['exact', 'events', 'state', 'info', 'twin'];
const FURTHER_FILES = ['docs/api.test.js', 'replica/digest.test.js'];
/** Files that take seconds: they are tried on what the others have not noticed. */
const SLOW_FILES = [
  'events/block-pieces.test.js',
  'info/coverage.test.js',
  'info/series.test.js',
  'state/address-growth.test.js',
  'state/pieces.test.js',
  'state/table-growth.test.js',
  'twin/changed-at.test.js',
  'twin/conservation.test.js',
  'twin/figures.test.js',
  'twin/fold.test.js',
];

/** The random tests try the same cases against every mutant, and in every run. */
process.env['PERPINFO_TEST_SEED'] ??= '1';

const options = readOptionsOrExit();
const explanations = readExplanations();

interface Result {
  readonly mutant: Mutant;
  readonly verdict: Verdict;
  /** Why it may survive. */
  readonly reason?: string | undefined;
}

function readOptionsOrExit() {
  try {
    return readOptions(process.argv.slice(2));
  } catch (error) {
    process.stderr.write(`${(error as Error).message}\n\n${USAGE}\n`);
    process.exit(2);
  }
}

function listTestFiles(): string[] {
  const inSuites = SUITES.flatMap((suite) =>
    readdirSync(path.join(PROJECT, 'test', suite))
      .filter((name) => name.endsWith('.test.ts'))
      .sort()
      .map((name) => `${suite}/${name.replace(/ts$/, 'js')}`),
  );
  return [...inSuites, ...FURTHER_FILES];
}

function isChosen(file: string): boolean {
  return options.files?.includes(file) ?? options.folders.includes(path.dirname(file));
}

/** A random sample, in the order of the code. */
function takeSample(mutants: readonly Mutant[], size: number): readonly Mutant[] {
  const random = new Random(options.seed);
  const left = [...mutants];
  const taken = new Set<Mutant>();
  while (taken.size < size && left.length > 0) {
    taken.add(left.splice(random.below(left.length), 1)[0]);
  }
  return mutants.filter((mutant) => taken.has(mutant));
}

function explain(mutant: Mutant): string | undefined {
  return explanations.find((each) => isExplainedBy(each, mutant))?.reason;
}

async function tryOne(trials: Trials, mutant: Mutant): Promise<Result> {
  const reason = explain(mutant);
  if (options.isTrusting && reason !== undefined) {
    return { mutant, verdict: { outcome: 'survived' }, reason };
  }
  const verdict = await trials.try(mutant);
  return verdict.outcome === 'survived' ? { mutant, verdict, reason } : { mutant, verdict };
}

/** Tries mutants on the tests of some files, after a run without mutants. */
async function tryAll(mutants: readonly Mutant[], files: readonly string[]): Promise<Result[]> {
  const noting = createMutatedBuild('noting');
  const notes = await noteTests(noting, files);
  noting.remove();
  say(`${mutants.length} mutants, ${notes.tests.length} tests in ${files.length} files`);
  const build = createMutatedBuild('trying');
  const queue = [...mutants];
  const results: Result[] = [];
  async function work(): Promise<void> {
    const trials = new Trials(build, files, notes);
    for (let mutant = queue.shift(); mutant !== undefined; mutant = queue.shift()) {
      results.push(await tryOne(trials, mutant));
      showProgress(results.length, mutants.length);
    }
    await trials.close();
  }
  await Promise.all(Array.from({ length: options.jobs }, work));
  build.remove();
  return results;
}

function hasSurvived({ verdict }: Result): boolean {
  return verdict.outcome === 'survived';
}

/** On the tests that take little time, and what is left on the others. */
async function tryInTurn(mutants: readonly Mutant[]): Promise<Result[]> {
  const files = listTestFiles();
  const quick = files.filter((file) => !SLOW_FILES.includes(file));
  const results = await tryAll(mutants, quick);
  const isLeft = (result: Result) =>
    options.isTrusting ? isUnexplained(result) : hasSurvived(result);
  const left = results.filter(isLeft).map(({ mutant }) => mutant);
  if (options.isQuick || left.length === 0) return results;
  const further = await tryAll(
    left,
    files.filter((file) => SLOW_FILES.includes(file)),
  );
  return [...results.filter((result) => !isLeft(result)), ...further];
}

function isUnexplained(result: Result): boolean {
  return hasSurvived(result) && result.reason === undefined;
}

/** Explanations of mutants that were tried and did not survive, or that are no longer there. */
function listNeedless(results: readonly Result[]): readonly ExplainedMutant[] {
  if (options.sample !== undefined) return [];
  const survivors = results.filter(hasSurvived);
  return explanations
    .filter(({ file }) => isChosen(file))
    .filter((each) => !survivors.some(({ mutant }) => isExplainedBy(each, mutant)));
}

function say(text: string): void {
  process.stdout.write(`${text}\n`);
}

function saySurvivor(mutant: Mutant): void {
  const { file, line, lineText } = mutant;
  say(`survived: src/${file}:${line}: ${lineText}\n    ${describeChange(mutant)}`);
}

function sayNeedless({ file, line, change }: ExplainedMutant): void {
  say(`explained, but does not survive: src/${file}: ${line}\n    ${change}`);
}

function showProgress(done: number, all: number): void {
  if (process.stderr.isTTY === true) process.stderr.write(`\r\x1b[K${done} of ${all} mutants\r`);
  else if (done % 100 === 0) process.stderr.write(`${done} of ${all} mutants\n`);
}

function formatRow(cells: readonly string[]): string {
  return cells.map((cell, index) => (index === 0 ? cell.padEnd(8) : cell.padStart(11))).join('');
}

/** The row of a folder, or of all. */
function formatScore(name: string, results: readonly Result[]): string {
  const count = (isCounted: (result: Result) => boolean) => results.filter(isCounted).length;
  const killed = count(({ verdict }) => verdict.outcome === 'killed');
  const endless = count(({ verdict }) => verdict.outcome === 'endless');
  const explained = count(({ reason }) => reason !== undefined);
  const survived = count(isUnexplained);
  const score = ((100 * (killed + endless)) / results.length).toFixed(1);
  const counts = [results.length, killed, endless, explained, survived];
  return formatRow([name, ...counts.map(String), `${score} %`]);
}

function sayScores(results: readonly Result[]): void {
  say('');
  say(formatRow(['', 'mutants', 'killed', 'timed out', 'explained', 'survived', 'score']));
  for (const folder of FOLDERS) {
    const inFolder = results.filter(({ mutant }) => path.dirname(mutant.file) === folder);
    if (inFolder.length > 0) say(formatScore(folder, inFolder));
  }
  say(formatScore('all', results));
}

const chosen = listMutants().filter(({ file }) => isChosen(file));
const mutants = options.sample === undefined ? chosen : takeSample(chosen, options.sample);
const results = await tryInTurn(mutants);
for (const { mutant } of results.filter(isUnexplained)) saySurvivor(mutant);
const needless = listNeedless(results);
for (const explained of needless) sayNeedless(explained);
sayScores(results);
process.exitCode = results.some(isUnexplained) || needless.length > 0 ? 1 : 0;
