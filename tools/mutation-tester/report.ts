/** Prints the results about mutants: each survivor at once, and the scores at the end. */

import path from 'node:path';
import { describeChange, type ExplainedMutant } from './explanations.ts';
import { FOLDERS, type Mutant } from './mutated-build.ts';
import type { Verdict } from './trial.ts';

export interface Result {
  readonly mutant: Mutant;
  readonly verdict: Verdict;
  /** The reason why the mutant may survive. */
  readonly reason?: string | undefined;
}

export function hasSurvived({ verdict }: Result): boolean {
  return verdict.outcome === 'survived';
}

export function isUnexplained(result: Result): boolean {
  return hasSurvived(result) && result.reason === undefined;
}

export function say(text: string): void {
  process.stdout.write(`${text}\n`);
}

export function saySurvivor(mutant: Mutant): void {
  const { file, line, lineText } = mutant;
  say(`survived: src/${file}:${line}: ${lineText}\n    ${describeChange(mutant)}`);
}

export function sayNeedless({ file, name }: ExplainedMutant): void {
  say(`explained, but does not survive: src/${file}: ${name}`);
}

export function showProgress(done: number, all: number): void {
  if (process.stderr.isTTY === true) process.stderr.write(`\r\x1b[K${done} of ${all} mutants\r`);
  else if (done % 100 === 0) process.stderr.write(`${done} of ${all} mutants\n`);
}

/** Prints a row for each file or each folder, and a row for all of them. */
export function sayScores(results: readonly Result[], isByFile: boolean): void {
  const partOf = ({ mutant }: Result) => (isByFile ? mutant.file : path.dirname(mutant.file));
  const parts = isByFile ? [...new Set(results.map(partOf))] : FOLDERS;
  const width = Math.max(...parts.map((part) => part.length)) + 2;
  const heads = ['mutants', 'killed', 'timed out', 'explained', 'survived', 'score'];
  say('');
  say(formatRow('', heads, width));
  for (const part of parts) {
    const inPart = results.filter((result) => partOf(result) === part);
    if (inPart.length > 0) say(formatRow(part, listScores(inPart), width));
  }
  say(formatRow('all', listScores(results), width));
}

function listScores(results: readonly Result[]): string[] {
  const count = (isCounted: (result: Result) => boolean) => results.filter(isCounted).length;
  const killed = count(({ verdict }) => verdict.outcome === 'killed');
  const endless = count(({ verdict }) => verdict.outcome === 'endless');
  const explained = count(({ reason }) => reason !== undefined);
  const counts = [results.length, killed, endless, explained, count(isUnexplained)];
  const score = ((100 * (killed + endless)) / results.length).toFixed(1);
  return [...counts.map(String), `${score} %`];
}

function formatRow(name: string, cells: readonly string[], width: number): string {
  return name.padEnd(width) + cells.map((cell) => cell.padStart(11)).join('');
}
