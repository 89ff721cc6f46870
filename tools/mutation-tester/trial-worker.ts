/**
 * A thread that runs tests against mutants. A file is loaded only once, so a trial takes only the
 * time of its tests. A mutant of code that runs while modules load is tried in a separate thread.
 */

import path from 'node:path';
import { parentPort, workerData } from 'node:worker_threads';
import fc from 'fast-check';
import { takeCollected } from './collected-tests.ts';
import { activate, hasEndlessLoop, startNoting, stopNoting } from './switches.ts';
import type {
  ChosenTest,
  LoadTask,
  Noted,
  NotedLoad,
  NotedTest,
  NoteTask,
  Task,
  TestPlace,
  Timed,
  TimeTask,
  Tried,
  TryTask,
  Verdict,
} from './trial.ts';

/** Ends a random test at its first failure, because the smallest failing case is not needed. */
fc.configureGlobal({ endOnFailure: true });

const { testFolder } = workerData as { testFolder: string };
/**
 * The maximum number of loop turns for each test of a thread in which the mutant is on while
 * modules load.
 */
const LOADED_TURNS_MAX = 20_000_000;
/**
 * A test that takes longer than this is not run again after a failure, because a new thread takes
 * less time.
 */
const CHECKED_MS_MAX = 500;

type Test = Awaited<ReturnType<typeof takeCollected>>[number];

/** The tests of the loaded files, by file. */
const loaded = new Map<string, readonly Test[]>();

async function load(file: string): Promise<readonly Test[]> {
  const known = loaded.get(file);
  if (known !== undefined) return known;
  await import(path.join(testFolder, file));
  const tests = await takeCollected();
  loaded.set(file, tests);
  return tests;
}

async function passes({ run }: Test): Promise<boolean> {
  try {
    await run();
    return true;
  } catch {
    return false;
  }
}

async function find({ file, index }: TestPlace): Promise<Test> {
  return (await load(file))[index];
}

async function noteLoad(
  file: string | undefined,
  count: number,
  work: () => Promise<unknown>,
): Promise<NotedLoad> {
  startNoting(count);
  await work();
  return { file, reached: stopNoting().reached };
}

async function noteTest(place: TestPlace, count: number): Promise<NotedTest> {
  const test = await find(place);
  startNoting(count);
  const hasPassed = await passes(test);
  return { ...place, name: test.name, hasPassed, ...stopNoting() };
}

async function note({ sources, files, mutantCount }: NoteTask): Promise<Noted> {
  const loads = [
    await noteLoad(undefined, mutantCount, async () => {
      for (const source of sources) await import(path.join(testFolder, '../src', source));
    }),
  ];
  for (const file of files) loads.push(await noteLoad(file, mutantCount, () => load(file)));
  const tests: NotedTest[] = [];
  for (const [file, { length }] of loaded) {
    for (let index = 0; index < length; index++) {
      tests.push(await noteTest({ file, index }, mutantCount));
    }
  }
  return { kind: 'noted', loads, tests };
}

/**
 * Measures the time of each test, in reverse order. A test that depends on other tests, or that
 * changes something for them, would kill mutants that it does not notice.
 */
async function time({ files, tests }: TimeTask): Promise<Timed> {
  for (const file of files) await load(file);
  const times: Timed['times'][number][] = [];
  for (const place of tests.toReversed()) {
    const test = await find(place);
    const start = performance.now();
    const hasPassed = await passes(test);
    times.push({ hasPassed, ms: performance.now() - start });
  }
  return { kind: 'timed', times: times.reverse() };
}

/** Runs a test against a mutant; returns undefined if the test passes. */
async function tryTest(
  mutant: number,
  test: Test,
  turnsMax: number,
): Promise<Verdict['outcome'] | undefined> {
  activate(mutant, turnsMax);
  const hasPassed = await passes(test);
  if (hasEndlessLoop()) return 'endless';
  return hasPassed ? undefined : 'killed';
}

async function tryMutant({ mutant, tests }: TryTask): Promise<Tried> {
  const ms: number[] = [];
  for (const chosen of tests) {
    // No mutant is on while a file is loaded, because the mutant must not change what the file
    // prepares.
    activate(0);
    const test = await find(chosen);
    const start = performance.now();
    const outcome = await tryTest(mutant, test, chosen.turnsMax);
    ms.push(performance.now() - start);
    if (outcome === undefined) continue;
    const verdict: Verdict = { outcome, killer: { file: chosen.file, name: test.name } };
    return { kind: 'tried', verdict, ms, isUnharmed: await isUnharmed(chosen, test) };
  }
  return { kind: 'tried', verdict: { outcome: 'survived' }, ms, isUnharmed: true };
}

async function isUnharmed({ ms, turnsMax }: ChosenTest, test: Test): Promise<boolean> {
  if (ms > CHECKED_MS_MAX) return false;
  activate(0, turnsMax);
  return (await passes(test)) && !hasEndlessLoop();
}

async function tryLoading({ mutant, files, leftOut }: LoadTask): Promise<Tried> {
  const ms: number[] = [];
  for (const file of files) {
    const start = performance.now();
    const verdict = await tryFile(mutant, file, leftOut);
    ms.push(performance.now() - start);
    if (verdict !== undefined) return { kind: 'tried', verdict, ms, isUnharmed: false };
  }
  return { kind: 'tried', verdict: { outcome: 'survived' }, ms, isUnharmed: false };
}

async function tryFile(
  mutant: number,
  file: string,
  leftOut: readonly string[],
): Promise<Verdict | undefined> {
  activate(mutant, LOADED_TURNS_MAX);
  try {
    for (const test of await load(file)) {
      if (leftOut.includes(test.name)) continue;
      const outcome = await tryTest(mutant, test, LOADED_TURNS_MAX);
      if (outcome !== undefined) return { outcome, killer: { file, name: test.name } };
    }
  } catch {
    return { outcome: hasEndlessLoop() ? 'endless' : 'killed', killer: { file } };
  }
  return undefined;
}

async function perform(task: Task): Promise<Noted | Timed | Tried> {
  if (task.kind === 'note') return note(task);
  if (task.kind === 'time') return time(task);
  return task.kind === 'try' ? tryMutant(task) : tryLoading(task);
}

parentPort?.on('message', async (task: Task) => parentPort?.postMessage(await perform(task)));
