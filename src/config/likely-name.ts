/** Finds the name that a misspelt name probably stands for. */

/**
 * The maximum number of wrong letters in a misspelt name: changed, added, missing or swapped
 * letters.
 */
const LETTERS_WRONG_MAX = 3;
/** The maximum share of wrong letters. A short name is similar to many other names. */
const SHARE_WRONG_MAX = 0.4;
const NAME_LENGTH_MAX = 100;

/** Returns the most similar known name; returns undefined if no name is similar enough. */
export function findLikelyName(given: string, known: readonly string[]): string | undefined {
  if (given.length > NAME_LENGTH_MAX) return undefined;
  const most = Math.min(LETTERS_WRONG_MAX, Math.floor(given.length * SHARE_WRONG_MAX));
  const near = known
    .map((name) => ({ name, wrong: countWrongLetters(given, name) }))
    .filter(({ wrong }) => wrong <= most);
  return near.sort((a, b) => a.wrong - b.wrong)[0]?.name;
}

/**
 * Returns the edit distance of two words: the number of letters to change, add, remove, or swap
 * with the next letter.
 */
function countWrongLetters(a: string, b: string): number {
  let before: number[] = [];
  let last = Array.from({ length: b.length + 1 }, (_, column) => column);
  for (let row = 1; row <= a.length; row++) {
    const next = [row];
    for (let column = 1; column <= b.length; column++) {
      const changed = last[column - 1] + (a[row - 1] === b[column - 1] ? 0 : 1);
      const isSwapped = a[row - 1] === b[column - 2] && a[row - 2] === b[column - 1];
      const swapped = isSwapped ? before[column - 2] + 1 : changed;
      next.push(Math.min(changed, swapped, last[column] + 1, next[column - 1] + 1));
    }
    before = last;
    last = next;
  }
  return last[b.length];
}
