/** The label of a key: a text on one line that is safe to print on a terminal. */

const LABEL_LENGTH_MAX = 100;
export const LABEL_EXPECTED = `up to ${LABEL_LENGTH_MAX} characters on one line, without control characters`;

/** Line breaks, control codes of terminals, and marks that change the direction of the text. */
const UNPRINTABLE = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/u;

export function isLabel(text: string): boolean {
  return text.length <= LABEL_LENGTH_MAX && !UNPRINTABLE.test(text);
}

/** Returns a label as a printable line. Earlier versions stored labels without a check. */
export function formatLabel(label: string): string {
  return label.replaceAll(new RegExp(UNPRINTABLE, 'gu'), ' ');
}
