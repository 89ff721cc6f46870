/** What is asked of the threads that try mutants, and what they reply. */

/** What runs while the modules of the core, or those of a test file, are loaded. */
export interface NotedLoad {
  /** Undefined for the core itself. */
  readonly file: string | undefined;
  /** By id: 1 where the mutant is reached. */
  readonly reached: Uint8Array;
}

export interface NotedTest {
  readonly file: string;
  readonly name: string;
  readonly hasPassed: boolean;
  /** Processor time. */
  readonly ms: number;
  /** Turns of loops in the core, in a run without a mutant. */
  readonly turns: number;
  /** By id: 1 where the mutant is reached. */
  readonly reached: Uint8Array;
}

export interface Verdict {
  /** Endless: more turns of loops than the test could need; a killed mutant as well. */
  readonly outcome: 'killed' | 'endless' | 'survived';
  /** The test that has noticed it, by its place among all. */
  readonly killer?: number;
}

/** Runs every test once, without a mutant. */
export interface NoteTask {
  readonly kind: 'note';
  readonly sources: readonly string[];
  readonly files: readonly string[];
  readonly mutantCount: number;
}

/** Runs some tests against a mutant, by their places among all. */
export interface TryTask {
  readonly kind: 'try';
  readonly mutant: number;
  readonly files: readonly string[];
  readonly tests: readonly number[];
  readonly turnsMax: readonly number[];
}

/** Loads files while the mutant is switched on, and runs their tests. */
export interface LoadTask {
  readonly kind: 'load';
  readonly mutant: number;
  readonly files: readonly string[];
  /** Names of tests that are left out. */
  readonly leftOut: readonly string[];
}

export type Task = NoteTask | TryTask | LoadTask;

export interface Notes {
  readonly kind: 'noted';
  readonly loads: readonly NotedLoad[];
  readonly tests: readonly NotedTest[];
}

export interface Tried {
  readonly kind: 'tried';
  readonly verdict: Verdict;
  /** Whether the thread can try further mutants. */
  readonly isUnharmed: boolean;
}
