/**
 * A thread that runs tests against mutants. Tests are loaded once, so a trial costs what its tests cost.
 * A mutant of code that runs while modules load is tried in a thread of its own.
 */

import path from 'node:path';
import { parentPort, workerData } from 'node:worker_threads';
import fc from 'fast-check';
import { takeCollected } from './collected-tests.ts';
import { activate, hasEndlessLoop, startNoting, stopNoting } from './switches.ts';
import type {
  LoadTask,
  NotedLoad,
  NotedTest,
  Notes,
  NoteTask,
  Task,
  Tried,
  TryTask,
  Verdict,
} from './trial.ts';

/** A failure is enough: what the smallest failing case is does not matter here. */
fc.configureGlobal({ endOnFailure: true });

const { testFolder } = workerData as { testFolder: string };
/** Tests that take less run a second time without a mutant, in the opposite order. */
const AGAIN_MS_MAX = 100;
/** Turns of loops for each test of a thread in which the mutant is switched on while modules load. */
const LOADED_TURNS_MAX = 20_000_000;
/** All tests of the files that are loaded, in order. */
const tests: { file: string; name: string; run: () => Promise<void> }[] = [];

/** Returns the places of the file's tests among all. */
async function load(file: string): Promise<number[]> {
  await import(path.join(testFolder, file));
  const first = tests.length;
  for (const { name, run } of await takeCollected()) tests.push({ file, name, run });
  return Array.from({ length: tests.length - first }, (_, index) => first + index);
}

async function passes(test: number): Promise<boolean> {
  try {
    await tests[test].run();
    return true;
  } catch {
    return false;
  }
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

async function noteTest(index: number, count: number): Promise<NotedTest> {
  const { file, name } = tests[index];
  startNoting(count);
  const usedBefore = process.cpuUsage();
  const hasPassed = await passes(index);
  const { user, system } = process.cpuUsage(usedBefore);
  const ms = (user + system) / 1000;
  return { file, name, hasPassed, ms, ...stopNoting() };
}

async function note({ sources, files, mutantCount }: NoteTask): Promise<Notes> {
  const loads = [
    await noteLoad(undefined, mutantCount, async () => {
      for (const source of sources) await import(path.join(testFolder, '../src', source));
    }),
  ];
  for (const file of files) loads.push(await noteLoad(file, mutantCount, () => load(file)));
  const noted: NotedTest[] = [];
  for (const index of tests.keys()) noted.push(await noteTest(index, mutantCount));
  for (const index of tests.keys()) await checkAgain(index, noted);
  return { kind: 'noted', loads, tests: noted };
}

/** A test that depends on others, or leaves something to them, would kill mutants that it does not notice. */
async function checkAgain(index: number, noted: NotedTest[]): Promise<void> {
  const last = tests.length - 1 - index;
  if (noted[last].ms > AGAIN_MS_MAX) return;
  noted[last] = { ...noted[last], hasPassed: noted[last].hasPassed && (await passes(last)) };
}

/** Undefined if the test passes. */
async function tryTest(
  mutant: number,
  test: number,
  turnsMax: number,
): Promise<Verdict | undefined> {
  activate(mutant, turnsMax);
  const hasPassed = await passes(test);
  if (hasEndlessLoop()) return { outcome: 'endless', killer: test };
  return hasPassed ? undefined : { outcome: 'killed', killer: test };
}

async function tryMutant({ mutant, files, tests: chosen, turnsMax }: TryTask): Promise<Tried> {
  if (tests.length === 0) for (const file of files) await load(file);
  for (const [index, test] of chosen.entries()) {
    const verdict = await tryTest(mutant, test, turnsMax[index]);
    if (verdict === undefined) continue;
    // The mutant may have changed what the modules keep.
    activate(0);
    return { kind: 'tried', verdict, isUnharmed: await passes(test) };
  }
  return { kind: 'tried', verdict: { outcome: 'survived' }, isUnharmed: true };
}

async function tryLoading({ mutant, files, leftOut }: LoadTask): Promise<Verdict> {
  for (const file of files) {
    activate(mutant, LOADED_TURNS_MAX);
    try {
      for (const test of await load(file)) {
        if (leftOut.includes(tests[test].name)) continue;
        const verdict = await tryTest(mutant, test, LOADED_TURNS_MAX);
        if (verdict !== undefined) return verdict;
      }
    } catch {
      return { outcome: hasEndlessLoop() ? 'endless' : 'killed' };
    }
  }
  return { outcome: 'survived' };
}

async function perform(task: Task): Promise<Notes | Tried> {
  if (task.kind === 'note') return note(task);
  if (task.kind === 'try') return tryMutant(task);
  return { kind: 'tried', verdict: await tryLoading(task), isUnharmed: false };
}

parentPort?.on('message', async (task: Task) => parentPort?.postMessage(await perform(task)));
