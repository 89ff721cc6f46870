/** Tries mutants in threads: chooses the tests and their order, and collects the results. */

import { once } from 'node:events';
import path from 'node:path';
import { Worker } from 'node:worker_threads';
import { Experience } from './experience.ts';
import type { Mutant, MutatedBuild } from './mutated-build.ts';
import type { Noted, NotedTest, Task, Timed, Tried, Verdict } from './trial.ts';

/** The maximum time of a trial, for endless loops outside of the core. */
const TRIAL_MS_MAX = 600_000;
/**
 * The turns that a test with a mutant may take: the turns without a mutant times the factor, plus
 * the constant.
 */
const TURNS_FACTOR = 4;
const TURNS_MORE = 1_000_000;

/**
 * Nearly every test may depend on values that are computed while modules load. For these mutants,
 * tests that take longer than this are not tried.
 */
const LOADED_TEST_MS_MAX = 300;

/**
 * Test files that take long and test few files. They are tried only against mutants of these files.
 */
const TRIED_AGAINST: Readonly<Record<string, readonly string[]>> = {
  'exact/decimal.test.js': ['exact/decimal.ts'],
  'events/block-pieces.test.js': ['events/block-pieces.ts', 'events/event.ts'],
  'state/address-growth.test.js': ['state/addresses.ts', 'exact/address.ts'],
  'state/table-growth.test.js': [
    'state/tables/table.ts',
    'state/tables/table-snapshot.ts',
    'state/tables/old-cell-values.ts',
  ],
};

function isFor(testFile: string, file: string): boolean {
  return TRIED_AGAINST[testFile]?.includes(file) ?? true;
}

/** A thread that is replaced if it hangs or if a mutant has damaged it. */
class Thread {
  readonly #testFolder: string;
  #worker: Worker | undefined;
  /** True if another mutant was already tried in this thread. */
  isUsed = false;

  constructor(testFolder: string) {
    this.#testFolder = testFolder;
  }

  /** Performs a task; resolves with undefined if the thread ends or takes too long. */
  async perform(task: Task): Promise<Noted | Timed | Tried | undefined> {
    const file = path.join(this.#testFolder, '../tools/mutation-tester/trial-worker.js');
    this.#worker ??= new Worker(file, {
      workerData: { testFolder: this.#testFolder },
      resourceLimits: { maxOldGenerationSizeMb: 1024 },
    });
    const reply = once(this.#worker, 'message', { signal: AbortSignal.timeout(TRIAL_MS_MAX) });
    this.#worker.postMessage(task);
    try {
      return (await reply)[0];
    } catch {
      return undefined;
    }
  }

  async close(): Promise<void> {
    await this.#worker?.terminate();
    this.#worker = undefined;
    this.isUsed = false;
  }
}

/** The facts about the tests that are known before any mutant is tried. */
export interface Notes extends Noted {
  readonly tests: readonly TimedTest[];
}

interface TimedTest extends NotedTest {
  readonly ms: number;
}

/**
 * Runs every test twice, to find out where mutants make a difference to it and how long it takes.
 */
export async function noteTests(
  noting: MutatedBuild,
  trying: MutatedBuild,
  files: readonly string[],
): Promise<Notes> {
  const { sources, mutants } = noting;
  const mutantCount = mutants.length;
  const noted = await performAlone<Noted>(noting, { kind: 'note', sources, files, mutantCount });
  const places = noted.tests.map(({ file, index }) => ({ file, index }));
  const { times } = await performAlone<Timed>(trying, { kind: 'time', files, tests: places });
  for (const [index, { file, name, hasPassed }] of noted.tests.entries()) {
    if (hasPassed && times[index].hasPassed) continue;
    throw new Error(`fails without a mutant: ${file}, ${name}`);
  }
  const tests = noted.tests.map((test, index) => ({ ...test, ms: times[index].ms }));
  return { ...noted, tests };
}

async function performAlone<T extends Noted | Timed>(build: MutatedBuild, task: Task): Promise<T> {
  const thread = new Thread(build.testFolder);
  const reply = await thread.perform(task);
  await thread.close();
  if (reply === undefined) throw new Error('the tests do not end without a mutant');
  return reply as T;
}

export class Trials {
  readonly #testFolder: string;
  readonly #thread: Thread;
  readonly #notes: Notes;
  readonly #files: readonly string[];
  readonly #msMax: number;
  /** The experience with each test, and with each test file, against each file of the core. */
  readonly #experience = new Experience();

  /** Tries each mutant with the most promising tests, as many as fit into `msMax`. */
  constructor(build: MutatedBuild, notes: Notes, msMax: number) {
    this.#testFolder = build.testFolder;
    this.#thread = new Thread(build.testFolder);
    this.#notes = notes;
    this.#files = [...new Set(notes.tests.map(({ file }) => file))];
    this.#msMax = msMax;
  }

  async try(mutant: Mutant): Promise<Verdict> {
    const tests = this.#chooseTests(mutant);
    const verdict = await this.#tryTests(mutant, tests);
    if (verdict.outcome !== 'survived') return verdict;
    const files = this.#chooseFiles(mutant);
    return files.length === 0 ? verdict : this.#tryLoading(mutant, files);
  }

  close(): Promise<void> {
    return this.#thread.close();
  }

  /** Returns the tests to which the mutant makes a difference. */
  #chooseTests({ id, file }: Mutant): TimedTest[] {
    const tests = this.#notes.tests.filter(
      (test) => test.reached[id] === 1 && isFor(test.file, file),
    );
    return this.#choose(file, tests, nameOf, ({ ms }) => ms);
  }

  async #tryTests(mutant: Mutant, tests: readonly TimedTest[]): Promise<Verdict> {
    if (tests.length === 0) return { outcome: 'survived' };
    const wasUsed = this.#thread.isUsed;
    this.#thread.isUsed = true;
    const reply = await this.#thread.perform({
      kind: 'try',
      mutant: mutant.id,
      tests: tests.map(({ file, index, turns, ms }) => {
        return { file, index, ms, turnsMax: turns * TURNS_FACTOR + TURNS_MORE };
      }),
    });
    if (reply?.kind === 'tried') this.#experience.add(mutant.file, tests.map(nameOf), reply);
    if (reply?.kind === 'tried' && reply.isUnharmed) return reply.verdict;
    await this.#thread.close();
    // An earlier mutant may have damaged the thread, so the tests are repeated. The failed test is
    // tried first.
    if (wasUsed) return this.#tryTests(mutant, putFirst(tests, (reply as Tried)?.ms?.length ?? 0));
    return reply?.kind === 'tried' ? reply.verdict : { outcome: 'endless' };
  }

  /**
   * Returns the test files that may depend on what the mutant changed while modules were loaded.
   */
  #chooseFiles({ id, file }: Mutant): string[] {
    const reaching = this.#notes.loads.filter(({ reached }) => reached[id] === 1);
    const isInCore = reaching.some((load) => load.file === undefined);
    const files = this.#files.filter(
      (each) => isFor(each, file) && (isInCore || reaching.some((load) => load.file === each)),
    );
    return this.#choose(file, files, String, (each) => this.#msOf(each));
  }

  #choose<T>(
    file: string,
    all: readonly T[],
    nameOf: (each: T) => string,
    msOf: (each: T) => number,
  ): T[] {
    let ms = 0;
    return this.#experience.sort(file, all, nameOf, msOf).filter((each) => {
      const isInTime = ms < this.#msMax;
      ms += msOf(each);
      return isInTime;
    });
  }

  #msOf(file: string): number {
    const tests = this.#notes.tests.filter((test) => test.file === file);
    return tests.reduce((sum, { ms }) => sum + ms, 0);
  }

  async #tryLoading(mutant: Mutant, files: readonly string[]): Promise<Verdict> {
    const thread = new Thread(this.#testFolder);
    const leftOut = this.#notes.tests
      .filter(({ ms }) => ms > LOADED_TEST_MS_MAX)
      .map(({ name }) => name);
    const reply = await thread.perform({ kind: 'load', mutant: mutant.id, files, leftOut });
    await thread.close();
    if (reply?.kind !== 'tried') return { outcome: 'endless' };
    this.#experience.add(mutant.file, files, reply);
    return reply.verdict;
  }
}

function nameOf({ file, index }: TimedTest): string {
  return `${file} ${index}`;
}

/** Moves the last of the first `count` tests to the front. */
function putFirst(tests: readonly TimedTest[], count: number): readonly TimedTest[] {
  const last = tests[count - 1];
  return last === undefined ? tests : [last, ...tests.filter((test) => test !== last)];
}
