/** The label of a key: a text of one line, which a terminal shows as it is. */

const LABEL_LENGTH_MAX = 100;
export const LABEL_EXPECTED = `up to ${LABEL_LENGTH_MAX} characters on one line, without control characters`;

/** Line breaks, codes that change a terminal, and marks that turn the direction of the text. */
const UNPRINTABLE = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/u;

export function isLabel(text: string): boolean {
  return text.length <= LABEL_LENGTH_MAX && !UNPRINTABLE.test(text);
}

/** A label that was stored before labels were checked, on one line. */
export function formatLabel(label: string): string {
  return label.replaceAll(new RegExp(UNPRINTABLE, 'gu'), ' ');
}
