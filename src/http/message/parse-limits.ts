/**
 * Limits on texts that cost far more to parse than any question. Parsing 64 KiB of nested arrays or of numbers
 * takes a hundred times as long as an answer; 1 KiB of nested arrays takes ten times as long. Valid questions
 * are far below these limits, so a text over a limit is refused without being parsed.
 */

/** Maximum number of each of these characters. Characters inside strings count as well. */
const MARKS_MAX = 256;
const MARKS = ['[', '{', ':'] as const;
/** Maximum number of commas: a question about many accounts has a comma for each account. */
const COMMAS_MAX = 2048;
/** Characters that are limited in a query string. A list has one of them for each item. */
const QUERY_MARKS = ['&', ',', '%', '+'] as const;
const QUERY_MARKS_MAX = 1024;
/** Texts up to this length are cheap to parse, if they have no more than MARKS_MAX marks. */
const CHEAP_LENGTH = 1024;

/** Whether parsing a text of this many bytes may be expensive, so that the key's budget is checked first. */
export function isLengthy(length: number): boolean {
  return length > CHEAP_LENGTH;
}

/** Reading this many bytes costs about as much as an answer of weight 1. */
const BYTES_PER_WEIGHT = 8192;

/** The minimum weight of a question of this many bytes, since the question has to be read. */
export function weighLength(length: number): number {
  return Math.max(1, Math.ceil(length / BYTES_PER_WEIGHT));
}

/** Describes for an error message which limit the text exceeds; undefined if the text may be parsed. */
export function findExcess(text: string): string | undefined {
  if (text.length <= MARKS_MAX) return undefined;
  const mark = MARKS.find((each) => hasMore(text, each, MARKS_MAX));
  if (mark !== undefined) return `more than ${MARKS_MAX} of "${mark}"`;
  return hasMore(text, ',', COMMAS_MAX) ? `more than ${COMMAS_MAX} of ","` : undefined;
}

/** Describes which limit a query string exceeds; undefined if the query may be parsed. */
export function findQueryExcess(query: string): string | undefined {
  if (!isLengthy(query.length)) return undefined;
  const mark = QUERY_MARKS.find((each) => hasMore(query, each, QUERY_MARKS_MAX));
  return mark === undefined ? undefined : `more than ${QUERY_MARKS_MAX} of "${mark}"`;
}

/** Whether a text has more than `max` of a character; the search stops there. */
export function hasMore(text: string, character: string, max: number): boolean {
  let place = -1;
  for (let found = 0; found <= max; found++) {
    place = text.indexOf(character, place + 1);
    if (place < 0) return false;
  }
  return true;
}
