/** The source files of src/ and what each of them imports, read as text. */

import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { PROJECT } from '../../tools/harness/paths.ts';

const SRC = path.join(PROJECT, 'src');

/** A module's name, in quotes after `from`, `import` or `require`: types and lazy imports too. */
const IMPORTED = /\b(?:from|import|require)\s*\(?\s*['"]([^'"]*)['"]/g;

/** By path below src/, such as `state/tables/table.ts`: the text of each file. */
export function readSources(): ReadonlyMap<string, string> {
  const files = readdirSync(SRC, { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.ts'))
    .map((file) => file.split(path.sep).join('/'))
    .sort();
  return new Map(files.map((file) => [file, readFileSync(path.join(SRC, file), 'utf8')]));
}

/** The files below src/ that a file imports, as paths below src/. */
export function importedFiles(file: string, text: string): string[] {
  return importedModules(text)
    .filter((module) => module.startsWith('.'))
    .map((module) => path.posix.join(path.posix.dirname(file), module));
}

/** The names of all modules that a file imports, as they are written. */
export function importedModules(text: string): string[] {
  return [...text.matchAll(IMPORTED)].map(([, module]) => module);
}
