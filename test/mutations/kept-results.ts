/**
 * What has come of each mutant, kept in a file, one line each, so that a run that was ended goes on where
 * it stopped. A line counts as long as the code and what tests share are the same, and the file of the
 * test that has noticed the mutant; for a survivor, all tests.
 */

import { createHash } from 'node:crypto';
import { appendFileSync, existsSync, readdirSync, readFileSync } from 'node:fs';
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
  /** Of what every verdict rests on, and of all tests. */
  readonly #sharedHash: string;
  readonly #testsHash: string;
  readonly #verdicts = new Map<string, Verdict>();

  /** `buildFolder` has the compiled src/ and test/. */
  constructor(file: string, buildFolder: string) {
    this.#file = file;
    const files = listFiles(buildFolder);
    const tests = files.filter(isTest);
    this.#hashes = new Map(tests.map((test) => [test, hashFiles(buildFolder, [test])]));
    this.#sharedHash = hashFiles(buildFolder, files.filter(isShared));
    this.#testsHash = hashFiles(buildFolder, tests);
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
    const hash = killer && this.#hashes.get(path.join('test', killer.file));
    return `${this.#sharedHash} ${hash ?? this.#testsHash}`;
  }
}

function nameOf({ file, start, mutated }: KeptMutant): string {
  return `${file} ${start} ${mutated}`;
}

function listFiles(folder: string): string[] {
  return ['src', 'test'].flatMap((part) =>
    readdirSync(path.join(folder, part), { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.js'))
      .map((name) => path.join(part, name))
      .sort(),
  );
}

function isTest(file: string): boolean {
  return file.endsWith('.test.js');
}

/** What every verdict rests on; the tool itself is left out. */
function isShared(file: string): boolean {
  return !file.endsWith('.test.js') && !file.startsWith(path.join('test', 'mutations'));
}

function hashFiles(folder: string, files: readonly string[]): string {
  const hash = createHash('sha256');
  for (const file of files) hash.update(file).update(readFileSync(path.join(folder, file)));
  return hash.digest('hex').slice(0, 16);
}
