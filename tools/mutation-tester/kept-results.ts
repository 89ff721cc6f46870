/**
 * What has come of each mutant, kept in a file, one line each, so that a run that was ended goes on where
 * it stopped. A line counts as long as the file of the test that has noticed the mutant is the same, with
 * all that it imports, the mutant's file among them; for a survivor, as long as all tests are.
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
  /** Of everything that the verdict rests on. */
  readonly hash: string;
}

export class KeptResults {
  readonly #file: string;
  /** By file of tests. Computed at once: the build may change while mutants are tried. */
  readonly #hashes: ReadonlyMap<string, string>;
  readonly #verdicts = new Map<string, Verdict>();

  /** `testFolder` is that of the build; `tests` are below it. */
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

/** The hash of a compiled file and of all files that it imports. */
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
