/**
 * Mutation testing of the core: changes its code in thousands of small ways, one at a time, and
 * runs the tests that reach the change. A mutant that no test notices is a survivor: it needs a
 * test, simpler code, or a reason in equivalent.json. See options.ts for the options.
 */

import { readdirSync } from 'node:fs';
import path from 'node:path';
import { Random } from '../../src/simulator/random.ts';
import { PROJECT } from '../harness/paths.ts';
import { type ExplainedMutant, isExplainedBy, readExplanations } from './explanations.ts';
import { KeptResults } from './kept-results.ts';
import { createMutatedBuild, listMutants, type Mutant } from './mutated-build.ts';
import { readOptions, USAGE } from './options.ts';
import {
  hasSurvived,
  isUnexplained,
  type Result,
  say,
  sayNeedless,
  sayScores,
  saySurvivor,
  showProgress,
} from './report.ts';
import type { Verdict } from './trial.ts';
import { noteTests, Trials } from './trials.ts';

/** The suites that need only the core, and similar files of other suites. */
const SUITES = ['cases', 'exact', 'events', 'state', 'info', 'twin'];
const FURTHER_FILES = ['docs/api.test.js', 'replica/digest.test.js'];
/** The maximum time for a mutant in a first overview. */
const QUICK_MS_MAX = 2000;

/** With a fixed seed, the random tests try the same cases against every mutant and in every run. */
process.env['PERPTEST_SEED'] ??= '1';

const options = readOptionsOrExit();
const explanations = readExplanations();
const kept =
  options.results === undefined
    ? undefined
    : new KeptResults(options.results, path.join(PROJECT, 'build/test'), listTestFiles());

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

/** Returns the test files that the options name, or all test files. */
function chooseTestFiles(): string[] {
  const files = listTestFiles();
  const wanted = options.tests?.map((name) => `${name}.test.js`);
  const unknown = wanted?.find((file) => !files.includes(file));
  if (unknown !== undefined) throw new Error(`--test: there is no ${unknown}`);
  return files.filter((file) => wanted?.includes(file) ?? true);
}

function isChosen(file: string): boolean {
  return options.files?.includes(file) ?? options.folders.includes(path.dirname(file));
}

/** Returns a random sample of the mutants, in the order of the code. */
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

/**
 * Returns the result of a mutant that is known without a trial; returns undefined if a trial is
 * necessary.
 */
function recall(mutant: Mutant): Result | undefined {
  const reason = explain(mutant);
  if (options.isTrusting && reason !== undefined) {
    return { mutant, verdict: { outcome: 'survived' }, reason };
  }
  const verdict = kept?.find(mutant);
  return verdict && judge(mutant, verdict);
}

function judge(mutant: Mutant, verdict: Verdict): Result {
  const reason = verdict.outcome === 'survived' ? explain(mutant) : undefined;
  return { mutant, verdict, reason };
}

function keep({ mutant, verdict }: Result): void {
  // The tests that were left out might have noticed the mutant.
  const isFirstLook = options.isQuick || options.tests !== undefined;
  if (isFirstLook && verdict.outcome === 'survived') return;
  kept?.add(mutant, verdict);
}

/** Tries mutants with all tests, after a run without mutants. */
async function tryAll(mutants: readonly Mutant[]): Promise<Result[]> {
  if (mutants.length === 0) return [];
  const files = chooseTestFiles();
  const switched = new Set(mutants.map(({ file }) => file));
  const noting = createMutatedBuild('noting', switched);
  const build = createMutatedBuild('trying', switched);
  const notes = await noteTests(noting, build, files);
  noting.remove();
  say(`${mutants.length} mutants, ${notes.tests.length} tests in ${files.length} files`);
  const queue = [...mutants];
  const results: Result[] = [];
  async function work(): Promise<void> {
    const trials = new Trials(build, notes, options.isQuick ? QUICK_MS_MAX : Infinity);
    for (let mutant = queue.shift(); mutant !== undefined; mutant = queue.shift()) {
      const result = judge(mutant, await trials.try(mutant));
      keep(result);
      if (isUnexplained(result)) saySurvivor(mutant);
      results.push(result);
      showProgress(results.length, mutants.length);
    }
    await trials.close();
  }
  await Promise.all(Array.from({ length: options.jobs }, work));
  build.remove();
  return results;
}

/**
 * Returns the explanations of mutants that were tried and did not survive, or that no longer exist.
 */
function listNeedless(results: readonly Result[]): readonly ExplainedMutant[] {
  if (options.sample !== undefined) return [];
  const survivors = results.filter(hasSurvived);
  return explanations
    .filter(({ file }) => isChosen(file))
    .filter((each) => !survivors.some(({ mutant }) => isExplainedBy(each, mutant)));
}

/** Returns the mutants to try. If the options name files, the files are tried in that order. */
function listChosen(): Mutant[] {
  const all = listMutants().filter(({ file }) => isChosen(file));
  return options.files?.flatMap((file) => all.filter((mutant) => mutant.file === file)) ?? all;
}

const chosen = listChosen();
const mutants = options.sample === undefined ? chosen : takeSample(chosen, options.sample);
const known = mutants.map(recall).filter((result) => result !== undefined);
for (const { mutant } of known.filter(isUnexplained)) saySurvivor(mutant);
const tried = await tryAll(mutants.filter((mutant) => recall(mutant) === undefined));
const results = [...known, ...tried];
const needless = listNeedless(results);
for (const explained of needless) sayNeedless(explained);
sayScores(results, options.files !== undefined);
process.exitCode = results.some(isUnexplained) || needless.length > 0 ? 1 : 0;
