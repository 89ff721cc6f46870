/**
 * A text that costs far more to parse than any question: 64 KiB of nested arrays or of numbers take a
 * hundred times as long as an answer. No question comes near these counts, so they are refused unparsed.
 */

/** Of each of these, in strings as well. */
const MARKS_MAX = 256;
const MARKS = ['[', '{', ':'] as const;
/** A question about many accounts has one for each of them. */
const COMMAS_MAX = 2048;
/** Shorter texts cost little, whatever is in them. */
const CHEAP_LENGTH = 1024;

/** What there is too much of, as an error message has it; undefined if it may be parsed. */
export function findExcess(text: string): string | undefined {
  if (text.length <= CHEAP_LENGTH) return undefined;
  const mark = MARKS.find((each) => hasMore(text, each, MARKS_MAX));
  if (mark !== undefined) return `more than ${MARKS_MAX} of "${mark}"`;
  return hasMore(text, ',', COMMAS_MAX) ? `more than ${COMMAS_MAX} of ","` : undefined;
}

function hasMore(text: string, character: string, max: number): boolean {
  let place = -1;
  for (let found = 0; found <= max; found++) {
    place = text.indexOf(character, place + 1);
    if (place < 0) return false;
  }
  return true;
}
