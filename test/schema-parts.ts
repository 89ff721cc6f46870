/**
 * At the end of a whole run: every part of every schema has occurred in an answer, in some process of some
 * suite (tools/harness/answer-checks.ts). A part that no answer has is a promise that no test has tried.
 */

import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { QUESTION_TYPES } from '../src/info/question-types.ts';
import { listSchemas, SchemaCoverage } from '../tools/harness/schema-coverage.ts';

/** Parts that do not occur, by schema, each with the reason. */
const ABSENT: Readonly<Record<string, Readonly<Record<string, string>>>> = {};

/** Prints the parts that never occurred, or that occurred although they are listed; false if there are any. */
export function checkSchemaParts(folder: string): boolean {
  const faults = findFaults(folder);
  for (const fault of faults) console.log(fault);
  if (faults.length === 0) console.log('schemas of answers: every part has occurred');
  return faults.length === 0;
}

function findFaults(folder: string): string[] {
  const seen = readSeen(folder);
  return QUESTION_TYPES.flatMap(listSchemas).flatMap(([name, schema]) => {
    const coverage = new SchemaCoverage(schema);
    for (const parts of seen.get(name) ?? []) coverage.add(parts);
    const listed = Object.keys(ABSENT[name] ?? {});
    const missing = coverage.missing.filter((part) => !listed.includes(part));
    const present = listed.filter((part) => !coverage.missing.includes(part));
    return [
      ...missing.map((part) => `the answer of ${name}: "${part}" has not occurred in any suite`),
      ...present.map(
        (part) => `the answer of ${name}: "${part}" is listed as absent, but occurred`,
      ),
    ];
  });
}

/** By schema, the parts that each process has seen. */
function readSeen(folder: string): Map<string, string[][]> {
  const seen = new Map<string, string[][]>();
  for (const file of readdirSync(folder)) {
    const left: Record<string, string[]> = JSON.parse(
      readFileSync(path.join(folder, file), 'utf8'),
    );
    for (const [name, parts] of Object.entries(left)) {
      seen.set(name, [...(seen.get(name) ?? []), parts]);
    }
  }
  return seen;
}
