/**
 * The results of mutants, stored in a file with one line each, so that an interrupted run can
 * continue. A line is valid as long as the test file that noticed the mutant and all files that it
 * imports, including the mutant's file, are unchanged. The line of a survivor is valid as long as
 * all tests are unchanged.
 */

import { createHash } from 'node:crypto';
import { appendFileSync, existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import type { Mutant } from './mutated-build.ts';
import type { Verdict } from './trial.ts';

type KeptMutant = Pick<Mutant, 'file' | 'start' | 'mutated'>;

interface Line {
  readonly mutant: string;
  readonly verdict: Verdict;
  /** The hash of all files on which the verdict depends. */
  readonly hash: string;
}

export class KeptResults {
  readonly #file: string;
  /**
   * The hashes by test file. They are computed at the start, because the build may change during
   * the run.
   */
  readonly #hashes: ReadonlyMap<string, string>;
  readonly #verdicts = new Map<string, Verdict>();

  /**
   * `testFolder` is the folder test/ of the build. The paths in `tests` are relative to this
   * folder.
   */
  constructor(file: string, testFolder: string, tests: readonly string[]) {
    this.#file = file;
    this.#hashes = new Map(tests.map((test) => [test, hashImported(path.join(testFolder, test))]));
    const text = existsSync(file) ? readFileSync(file, 'utf8') : '';
    for (const line of text.split('\n').filter(Boolean)) this.#take(JSON.parse(line) as Line);
  }

  #take({ mutant, verdict, hash }: Line): void {
    if (hash === this.#hashOf(verdict)) this.#verdicts.set(mutant, verdict);
  }

  find(mutant: KeptMutant): Verdict | undefined {
    return this.#verdicts.get(nameOf(mutant));
  }

  add(mutant: KeptMutant, verdict: Verdict): void {
    const line: Line = { mutant: nameOf(mutant), verdict, hash: this.#hashOf(verdict) };
    appendFileSync(this.#file, `${JSON.stringify(line)}\n`);
  }

  #hashOf({ killer }: Verdict): string {
    if (killer === undefined) return hash([...this.#hashes.values()]);
    return this.#hashes.get(killer.file) ?? 'not tried';
  }
}

function nameOf({ file, start, mutated }: KeptMutant): string {
  return `${file} ${start} ${mutated}`;
}

/** Returns the hash of a compiled file and of all files that it imports. */
function hashImported(file: string): string {
  const files = new Map<string, string>();
  const add = (each: string): void => {
    if (files.has(each) || !existsSync(each)) return;
    const code = readFileSync(each, 'utf8');
    files.set(each, code);
    for (const [, imported] of code.matchAll(/(?:from|import)\s*\(?'(\.[^']+)'/g)) {
      add(path.resolve(path.dirname(each), imported));
    }
  };
  add(file);
  return hash([...files.values()]);
}

function hash(texts: readonly string[]): string {
  const digest = createHash('sha256');
  for (const text of texts) digest.update(`${text.length} `).update(text);
  return digest.digest('hex').slice(0, 16);
}
