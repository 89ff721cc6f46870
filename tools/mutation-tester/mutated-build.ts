/** A copy of the build in a temporary folder, with every mutant of the core in it. */

import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { SourceMap } from 'node:module';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { PROJECT } from '../harness/paths.ts';
import { type Change, findMutants } from './find-mutants.ts';
import type { SwitchForm } from './switch-forms.ts';

export const FOLDERS = ['exact', 'events', 'state', 'info'] as const;

export interface Mutant extends Change {
  /** The id of its switch, from 1 on. */
  readonly id: number;
  /** The path relative to src/. */
  readonly file: string;
  /** The line number in the source, from 1 on. */
  readonly line: number;
  /** The whole line of the source, trimmed. */
  readonly lineText: string;
}

export interface MutatedBuild {
  /** The folder that corresponds to test/ of the build. */
  readonly testFolder: string;
  readonly mutants: readonly Mutant[];
  /** The compiled files of the core, relative to src/ of the build. */
  readonly sources: readonly string[];
  remove(): void;
}

/** Creates a copy of the build. Only the files in `chosen` have switches. */
export function createMutatedBuild(form: SwitchForm, chosen: ReadonlySet<string>): MutatedBuild {
  const folder = mkdtempSync(path.join(tmpdir(), 'perpinfo-mutants-'));
  const remove = () => rmSync(folder, { recursive: true, force: true });
  process.once('exit', remove);
  // Tests find documents, vectors and packages from the folder above the build.
  for (const name of readdirSync(PROJECT)) {
    if (name !== 'build') symlinkSync(path.join(PROJECT, name), path.join(folder, name));
  }
  mkdirSync(path.join(folder, 'build'));
  for (const part of ['src', 'test', 'tools']) {
    const from = path.join(PROJECT, 'build', part);
    cpSync(from, path.join(folder, 'build', part), { recursive: true });
  }
  const testFolder = path.join(folder, 'build/test');
  replaceNodeTest(testFolder);
  return {
    testFolder,
    mutants: mutateSources(path.join(folder, 'build/src'), (file) =>
      chosen.has(file) ? form : 'none',
    ),
    sources: listSources().map(compiledName),
    remove,
  };
}

function replaceNodeTest(testFolder: string): void {
  for (const name of readdirSync(testFolder, { recursive: true, encoding: 'utf8' })) {
    if (!name.endsWith('.test.js')) continue;
    const file = path.join(testFolder, name);
    const collected = path.join(testFolder, '../tools/mutation-tester/collected-tests.js');
    const code = readFileSync(file, 'utf8');
    writeFileSync(file, code.replace("from 'node:test'", `from '${collected}'`));
  }
}

/** Returns all mutants of the core, without a copy of the build. */
export function listMutants(): Mutant[] {
  const files = readFiles(path.join(PROJECT, 'build/src'), () => 'none');
  return [...files].flatMap(({ mutants }) => mutants);
}

interface MutatedFile {
  readonly compiled: string;
  readonly code: string;
  readonly mutants: readonly Mutant[];
}

/** Writes the mutants into the compiled files of the core, and returns them. */
function mutateSources(sourceFolder: string, formOf: FormOf): Mutant[] {
  const switches = path.resolve(sourceFolder, '../tools/mutation-tester/switches.js');
  return [...readFiles(sourceFolder, formOf)].flatMap(({ compiled, code, mutants }) => {
    writeFileSync(
      compiled,
      `import { active, compare, compareConstant, compareTruth, countTurn, enter, reach } from '${switches}';${code}`,
    );
    return mutants;
  });
}

type FormOf = (file: string) => SwitchForm;

function* readFiles(sourceFolder: string, formOf: FormOf): Iterable<MutatedFile> {
  let id = 1;
  for (const file of listSources()) {
    const compiled = path.join(sourceFolder, compiledName(file));
    const text = readFileSync(compiled, 'utf8');
    const { changes, code } = findMutants(text, id, formOf(file));
    const lineOf = createLineFinder(compiled, text);
    const lines = readFileSync(path.join(PROJECT, 'src', file), 'utf8').split('\n');
    const mutants = changes.map((change, index) => {
      const line = lineOf(change.start);
      return { ...change, id: id + index, file, line, lineText: lines[line - 1].trim() };
    });
    yield { compiled, code, mutants };
    id += changes.length;
  }
}

/** Returns the sources of the core, relative to src/. */
export function listSources(): string[] {
  return FOLDERS.flatMap((folder) =>
    readdirSync(path.join(PROJECT, 'src', folder), { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.ts'))
      .sort()
      .map((name) => `${folder}/${name}`),
  );
}

function compiledName(file: string): string {
  return file.replace(/ts$/, 'js');
}

/** Returns a function that converts a position in compiled code to a line of its source. */
function createLineFinder(compiled: string, code: string): (offset: number) => number {
  const map = new SourceMap(JSON.parse(readFileSync(`${compiled}.map`, 'utf8')));
  return (offset) => {
    const before = code.slice(0, offset).split('\n');
    const entry = map.findEntry(before.length - 1, before[before.length - 1].length);
    if (!('originalLine' in entry)) throw new Error(`${compiled}: no source of offset ${offset}`);
    return entry.originalLine + 1;
  };
}
