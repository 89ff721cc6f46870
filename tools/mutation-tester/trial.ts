/** The tasks of the threads that try mutants, and the replies of the threads. */

/** The code that runs while the modules of the core, or of a test file, are loaded. */
export interface NotedLoad {
  /** The test file; undefined for the core itself. */
  readonly file: string | undefined;
  /** By mutant id: 1 if the mutant makes a difference. */
  readonly reached: Uint8Array;
}

/** A test, identified by its place in its file. */
export interface TestPlace {
  /** The path relative to test/ of the build. */
  readonly file: string;
  readonly index: number;
}

export interface NotedTest extends TestPlace {
  readonly name: string;
  readonly hasPassed: boolean;
  /** The number of loop turns in the core, in a run without a mutant. */
  readonly turns: number;
  /** By mutant id: 1 if the mutant makes a difference, whether the test notices it or not. */
  readonly reached: Uint8Array;
}

export interface Verdict {
  /**
   * "endless": the loops took more turns than the test could need. This also counts as a killed
   * mutant.
   */
  readonly outcome: 'killed' | 'endless' | 'survived';
  /** The test that noticed the mutant; only its file if the file could not be loaded. */
  readonly killer?: { readonly file: string; readonly name?: string };
}

/** Runs every test once, without a mutant, to see where mutants make a difference. */
export interface NoteTask {
  readonly kind: 'note';
  readonly sources: readonly string[];
  readonly files: readonly string[];
  readonly mutantCount: number;
}

/** Runs every test again without a mutant, from the last test to the first, to measure its time. */
export interface TimeTask {
  readonly kind: 'time';
  readonly files: readonly string[];
  readonly tests: readonly TestPlace[];
}

/** Runs some tests against a mutant, until one notices it. */
export interface TryTask {
  readonly kind: 'try';
  readonly mutant: number;
  readonly tests: readonly ChosenTest[];
}

export interface ChosenTest extends TestPlace {
  readonly turnsMax: number;
  /**
   * The time of the test without a mutant. A long test is not run again to check that it still
   * passes.
   */
  readonly ms: number;
}

/** Loads files while the mutant is switched on, and runs their tests. */
export interface LoadTask {
  readonly kind: 'load';
  readonly mutant: number;
  readonly files: readonly string[];
  /** The names of tests that are left out. */
  readonly leftOut: readonly string[];
}

export type Task = NoteTask | TimeTask | TryTask | LoadTask;

export interface Noted {
  readonly kind: 'noted';
  readonly loads: readonly NotedLoad[];
  readonly tests: readonly NotedTest[];
}

export interface Timed {
  readonly kind: 'timed';
  /** The result of each test. */
  readonly times: readonly { readonly hasPassed: boolean; readonly ms: number }[];
}

export interface Tried {
  readonly kind: 'tried';
  readonly verdict: Verdict;
  /** The time of each test, or of each file, that was tried. */
  readonly ms: readonly number[];
  /** True if the thread can try other mutants. */
  readonly isUnharmed: boolean;
}
