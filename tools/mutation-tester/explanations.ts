/** Mutants that no test can notice, or that no test should notice, each with the reason: equivalent.json. */

import { readFileSync } from 'node:fs';
import path from 'node:path';
import { PROJECT } from '../harness/paths.ts';
import type { Mutant } from './mutated-build.ts';

const FILE = path.join(PROJECT, 'tools/mutation-tester/equivalent.json');
const TEXT_LENGTH_MAX = 90;

interface Explanation {
  readonly reason: string;
  /**
   * Kinds of changes, separated by semicolons, by file and function, such as "exact/decimal.ts
   * formatUnits".
   */
  readonly mutants: Readonly<Record<string, string>>;
}

export interface ExplainedMutant {
  readonly reason: string;
  readonly file: string;
  readonly name: string;
}

export function readExplanations(): ExplainedMutant[] {
  const explanations = JSON.parse(readFileSync(FILE, 'utf8')) as Explanation[];
  return explanations.flatMap(({ reason, mutants }) =>
    Object.entries(mutants).flatMap(([place, kinds]) => {
      const [file, owner] = place.split(' ');
      return kinds.split('; ').map((kind) => ({ reason, file, name: `${owner}: ${kind}` }));
    }),
  );
}

export function isExplainedBy(explained: ExplainedMutant, mutant: Mutant): boolean {
  return explained.file === mutant.file && explained.name === mutant.name;
}

export function describeChange({ name, original, mutated }: Mutant): string {
  return `${name} (${shorten(original)} -> ${shorten(mutated)})`;
}

function shorten(text: string): string {
  const line = text.replace(/\s+/g, ' ');
  return line.length > TEXT_LENGTH_MAX ? `${line.slice(0, TEXT_LENGTH_MAX)}…` : line;
}
