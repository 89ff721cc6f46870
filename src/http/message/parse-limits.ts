/**
 * Limits the texts that are parsed, because some texts take far longer to parse than any question.
 * Parsing 64 KiB of nested arrays or of numbers takes a hundred times as long as an answer; parsing
 * 1 KiB of nested arrays takes ten times as long. Valid questions are far below these limits, so a
 * text over a limit is refused without being parsed.
 */

/** Maximum number of each of the characters in MARKS. Characters inside strings count as well. */
const MARKS_MAX = 256;
const MARKS = ['[', '{', ':'] as const;
/** Maximum number of commas. A question about many accounts has a comma for each account. */
const COMMAS_MAX = 2048;
/** The characters that are limited in a query string. A list contains one of them for each item. */
const QUERY_MARKS = ['&', ',', '%', '+'] as const;
const QUERY_MARKS_MAX = 1024;
/**
 * Texts up to this length are cheap to parse, if no character of MARKS occurs more than MARKS_MAX
 * times.
 */
const CHEAP_LENGTH = 1024;

/**
 * Returns true if parsing a text of this length in bytes may be expensive. The key's budget is then
 * checked first.
 */
export function isLengthy(length: number): boolean {
  return length > CHEAP_LENGTH;
}

/** The number of bytes that cost about as much to read as an answer of weight 1. */
const BYTES_PER_WEIGHT = 8192;

/**
 * Returns the minimum weight of a question of this length in bytes. The weight pays for reading the
 * question.
 */
export function weighLength(length: number): number {
  return Math.max(1, Math.ceil(length / BYTES_PER_WEIGHT));
}

/**
 * Returns a description, for an error message, of the limit that the text exceeds. Returns
 * undefined if the text may be parsed.
 */
export function findExcess(text: string): string | undefined {
  if (text.length <= MARKS_MAX) return undefined;
  const mark = MARKS.find((each) => hasMore(text, each, MARKS_MAX));
  if (mark !== undefined) return `more than ${MARKS_MAX} of "${mark}"`;
  return hasMore(text, ',', COMMAS_MAX) ? `more than ${COMMAS_MAX} of ","` : undefined;
}

/**
 * Returns a description of the limit that a query string exceeds. Returns undefined if the query
 * may be parsed.
 */
export function findQueryExcess(query: string): string | undefined {
  if (!isLengthy(query.length)) return undefined;
  const mark = QUERY_MARKS.find((each) => hasMore(query, each, QUERY_MARKS_MAX));
  return mark === undefined ? undefined : `more than ${QUERY_MARKS_MAX} of "${mark}"`;
}

/**
 * Returns true if a text contains a character more than `max` times. The search stops at the first
 * excess character.
 */
export function hasMore(text: string, character: string, max: number): boolean {
  let place = -1;
  for (let found = 0; found <= max; found++) {
    place = text.indexOf(character, place + 1);
    if (place < 0) return false;
  }
  return true;
}
