/** What is asked of the threads that try mutants, and what they reply. */

/** What runs while the modules of the core, or those of a test file, are loaded. */
export interface NotedLoad {
  /** Undefined for the core itself. */
  readonly file: string | undefined;
  /** By id: 1 where the mutant makes a difference. */
  readonly reached: Uint8Array;
}

/** A test, by its place in its file. */
export interface TestPlace {
  /** Below the build's test/. */
  readonly file: string;
  readonly index: number;
}

export interface NotedTest extends TestPlace {
  readonly name: string;
  readonly hasPassed: boolean;
  /** Turns of loops in the core, in a run without a mutant. */
  readonly turns: number;
  /** By id: 1 where the mutant makes a difference, whether the test notices it or not. */
  readonly reached: Uint8Array;
}

export interface Verdict {
  /** Endless: more turns of loops than the test could need; a killed mutant as well. */
  readonly outcome: 'killed' | 'endless' | 'survived';
  /** The test that has noticed it; only its file, if that could not even be loaded. */
  readonly killer?: { readonly file: string; readonly name?: string };
}

/** Runs every test once, without a mutant, to see where mutants make a difference. */
export interface NoteTask {
  readonly kind: 'note';
  readonly sources: readonly string[];
  readonly files: readonly string[];
  readonly mutantCount: number;
}

/** Runs every test once more, without a mutant and from the last to the first, to see how long it takes. */
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
  /** How long it takes without a mutant: a long one is not run again to see whether it still passes. */
  readonly ms: number;
}

/** Loads files while the mutant is switched on, and runs their tests. */
export interface LoadTask {
  readonly kind: 'load';
  readonly mutant: number;
  readonly files: readonly string[];
  /** Names of tests that are left out. */
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
  /** Of each test. */
  readonly times: readonly { readonly hasPassed: boolean; readonly ms: number }[];
}

export interface Tried {
  readonly kind: 'tried';
  readonly verdict: Verdict;
  /** The time that each test, or each file, has taken, as far as they were tried. */
  readonly ms: readonly number[];
  /** Whether the thread can try further mutants. */
  readonly isUnharmed: boolean;
}
