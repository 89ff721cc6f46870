/** Tries mutants in threads: which tests, in which order, and what comes of it. */

import { once } from 'node:events';
import path from 'node:path';
import { Worker } from 'node:worker_threads';
import type { Mutant, MutatedBuild } from './mutated-build.ts';
import type { Notes, Task, Tried, Verdict } from './trial.ts';

/** For loops that take turns outside the core. */
const TRIAL_MS_MAX = 600_000;
/** A test with a mutant may take this much longer than without. */
const TURNS_FACTOR = 4;
const TURNS_MORE = 1_000_000;
/** A test that has noticed a mutant often notices the next one in the file. */
const KILLERS_REMEMBERED = 4;

/** Nearly every test may depend on what is computed while modules load: those that take longer are not tried. */
const LOADED_TEST_MS_MAX = 300;

/** Test files that take long and are about few files: they are tried against these alone. */
const TRIED_AGAINST: Readonly<Record<string, readonly string[]>> = {
  'exact/decimal.test.js': ['exact/decimal.ts'],
  'events/block-pieces.test.js': ['events/block-pieces.ts', 'events/event.ts'],
  'state/address-growth.test.js': ['state/addresses.ts', 'exact/address.ts'],
  'state/table-growth.test.js': [
    'state/table.ts',
    'state/table-snapshot.ts',
    'state/cell-values.ts',
  ],
};

function isFor(testFile: string, file: string): boolean {
  return TRIED_AGAINST[testFile]?.includes(file) ?? true;
}

function sortByMs(files: readonly string[], { tests }: Notes): string[] {
  const msOf = (file: string) =>
    tests.filter((test) => test.file === file).reduce((sum, { ms }) => sum + ms, 0);
  return [...files].sort((a, b) => msOf(a) - msOf(b));
}

/** A thread that is replaced when it hangs or when a mutant has harmed it. */
class Thread {
  readonly #testFolder: string;
  #worker: Worker | undefined;
  /** Whether another mutant was tried in it. */
  isUsed = false;

  constructor(testFolder: string) {
    this.#testFolder = testFolder;
  }

  /** Undefined if the thread dies or takes too long. */
  async perform(task: Task, msMax = TRIAL_MS_MAX): Promise<Notes | Tried | undefined> {
    const file = path.join(this.#testFolder, 'mutations/trial-worker.js');
    this.#worker ??= new Worker(file, {
      workerData: { testFolder: this.#testFolder },
      resourceLimits: { maxOldGenerationSizeMb: 1024 },
    });
    const reply = once(this.#worker, 'message', { signal: AbortSignal.timeout(msMax) });
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

/** Runs every test once, to know which mutants it reaches. */
export async function noteTests(build: MutatedBuild, files: readonly string[]): Promise<Notes> {
  const thread = new Thread(build.testFolder);
  const mutantCount = build.mutants.length;
  const reply = await thread.perform(
    { kind: 'note', sources: build.sources, files, mutantCount },
    600_000,
  );
  await thread.close();
  if (reply?.kind !== 'noted') throw new Error('the tests do not end without a mutant');
  const failed = reply.tests.find(({ hasPassed }) => !hasPassed);
  if (failed) throw new Error(`fails without a mutant: ${failed.file}, ${failed.name}`);
  return reply;
}

export class Trials {
  readonly #testFolder: string;
  readonly #thread: Thread;
  readonly #files: readonly string[];
  readonly #filesByMs: readonly string[];
  readonly #notes: Notes;
  readonly #killers = new Map<string, number[]>();

  constructor(build: MutatedBuild, files: readonly string[], notes: Notes) {
    this.#testFolder = build.testFolder;
    this.#thread = new Thread(build.testFolder);
    this.#files = files;
    this.#filesByMs = sortByMs(files, notes);
    this.#notes = notes;
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

  /** Those that reach the mutant: the killers of its neighbours first, then by how long they take. */
  #chooseTests({ id, file }: Mutant): number[] {
    const { tests } = this.#notes;
    const killers = this.#killers.get(file) ?? [];
    const rank = (test: number) => (killers.includes(test) ? -1 : tests[test].ms);
    return [...tests.keys()]
      .filter((test) => tests[test].reached[id] === 1 && isFor(tests[test].file, file))
      .sort((a, b) => rank(a) - rank(b));
  }

  async #tryTests(mutant: Mutant, tests: readonly number[]): Promise<Verdict> {
    if (tests.length === 0) return { outcome: 'survived' };
    const wasUsed = this.#thread.isUsed;
    this.#thread.isUsed = true;
    const turnsMax = tests.map((test) => this.#notes.tests[test].turns * TURNS_FACTOR + TURNS_MORE);
    const reply = await this.#thread.perform({
      kind: 'try',
      mutant: mutant.id,
      files: this.#files,
      tests,
      turnsMax,
    });
    if (reply?.kind === 'tried' && reply.isUnharmed) {
      this.#remember(mutant.file, reply.verdict.killer);
      return reply.verdict;
    }
    await this.#thread.close();
    // An earlier mutant may have left something behind.
    if (wasUsed) return this.#tryTests(mutant, tests);
    return reply?.kind === 'tried' ? reply.verdict : { outcome: 'endless' };
  }

  #remember(file: string, killer: number | undefined): void {
    if (killer === undefined) return;
    const others = (this.#killers.get(file) ?? []).filter((test) => test !== killer);
    this.#killers.set(file, [killer, ...others].slice(0, KILLERS_REMEMBERED));
  }

  /** Files whose tests may depend on what the mutant has changed while modules were loaded. */
  #chooseFiles({ id, file }: Mutant): string[] {
    const reaching = this.#notes.loads.filter(({ reached }) => reached[id] === 1);
    const isInCore = reaching.some((load) => load.file === undefined);
    return this.#filesByMs.filter(
      (each) => isFor(each, file) && (isInCore || reaching.some((load) => load.file === each)),
    );
  }

  async #tryLoading(mutant: Mutant, files: readonly string[]): Promise<Verdict> {
    const thread = new Thread(this.#testFolder);
    const leftOut = this.#notes.tests
      .filter(({ ms }) => ms > LOADED_TEST_MS_MAX)
      .map(({ name }) => name);
    const reply = await thread.perform({ kind: 'load', mutant: mutant.id, files, leftOut });
    await thread.close();
    return reply?.kind === 'tried' ? reply.verdict : { outcome: 'endless' };
  }
}
