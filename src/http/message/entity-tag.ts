/**
 * Creates the entity tags of answers. A tag contains the ledger, the type of the question, and the
 * height since which the answer has been the same. The tag is known before the answer is computed.
 * The tag is weak, because answers with different ledger positions share the tag.
 */

import type { StateView } from '../../state/state.ts';

export function entityTag({ ledgerId }: StateView, type: string, changedAt: number): string {
  if (last.changedAt !== changedAt || last.type !== type || last.ledgerId !== ledgerId) {
    last = { ledgerId, type, changedAt, tag: `W/"${ledgerId}-${type}-${changedAt}"` };
  }
  return last.tag;
}

/**
 * A cache of one tag. When prices move, the newest block changes most accounts, so their answers
 * share this tag.
 */
let last = { ledgerId: '', type: '', changedAt: -1, tag: '' };

/**
 * Returns the tag of an answer about the past. The tag is strong, because the answer never changes.
 */
export function pastTag(ledgerId: string, type: string, height: number): string {
  return `"${ledgerId}-${type}-at-${height}"`;
}

/**
 * Maximum number of tags of one If-None-Match header that are compared. A client usually has one
 * tag for an answer. Comparing thousands of tags would take longer than computing the answer.
 */
const TAGS_MAX = 32;

/**
 * Returns true if the tag is among the first TAGS_MAX tags of an If-None-Match header. The
 * comparison is weak.
 */
export function namesTag(header: string | undefined, tag: string): boolean {
  if (header === undefined) return false;
  if (header === tag || header === '*') return true;
  const opaque = tag.replace(/^W\//, '');
  return header.split(',', TAGS_MAX).some((part) => {
    const named = part.trim();
    return named === '*' || named.replace(/^W\//, '') === opaque;
  });
}
