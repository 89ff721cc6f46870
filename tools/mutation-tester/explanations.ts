/** Mutants that no test can notice, or none should, each with the reason: equivalent.json. */

import { readFileSync } from 'node:fs';
import path from 'node:path';
import { PROJECT } from '../harness/paths.ts';
import type { Mutant } from './mutated-build.ts';

const FILE = path.join(PROJECT, 'tools/mutation-tester/equivalent.json');
const TEXT_LENGTH_MAX = 90;

interface Explanation {
  readonly reason: string;
  readonly mutants: readonly {
    readonly file: string;
    /** The line of the source, so that an explanation stays with its code. */
    readonly line: string;
    /** As the report has them. */
    readonly changes: readonly string[];
  }[];
}

export interface ExplainedMutant {
  readonly reason: string;
  readonly file: string;
  readonly line: string;
  readonly change: string;
}

export function readExplanations(): ExplainedMutant[] {
  const explanations = JSON.parse(readFileSync(FILE, 'utf8')) as Explanation[];
  return explanations.flatMap(({ reason, mutants }) =>
    mutants.flatMap(({ file, line, changes }) =>
      changes.map((change) => ({ reason, file, line, change })),
    ),
  );
}

export function isExplainedBy(explained: ExplainedMutant, mutant: Mutant): boolean {
  const { file, line, change } = explained;
  return file === mutant.file && line === mutant.lineText && change === describeChange(mutant);
}

export function describeChange({ original, mutated }: Mutant): string {
  return `${shorten(original)} -> ${shorten(mutated)}`;
}

function shorten(text: string): string {
  const line = text.replace(/\s+/g, ' ');
  return line.length > TEXT_LENGTH_MAX ? `${line.slice(0, TEXT_LENGTH_MAX)}…` : line;
}
