/**
 * JSON of another server that the ledger stores unchanged, such as the server's lists of markets.
 * Only its length and its depth are limited, because the server decides on its contents.
 */

import { Refusal } from './refusal.ts';

/** The maximum length of the text, in characters. An event of this length fits into a block. */
const LENGTH_MAX = 900_000;
/** The maximum depth of nested arrays and objects. */
const LEVELS_MAX = 8;

/**
 * Returns the value as JSON text without white space. Throws a Refusal if the value is too large.
 */
export function readStoredJson(field: string, value: unknown): string {
  checkLevels(field, value, LEVELS_MAX);
  const text = JSON.stringify(value);
  if (text.length <= LENGTH_MAX) return text;
  throw new Refusal(field, value, `at most ${LENGTH_MAX} characters of JSON`);
}

function checkLevels(field: string, value: unknown, left: number): void {
  if (typeof value !== 'object' || value === null) return;
  if (left === 0) {
    throw new Refusal(field, value, `at most ${LEVELS_MAX} levels of arrays and objects`);
  }
  for (const member of Object.values(value)) checkLevels(field, member, left - 1);
}
