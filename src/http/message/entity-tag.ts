/**
 * The entity tag of an answer: the ledger, the type of the question, and the height since which the
 * answer has been the same. It is known without the answer. A weak tag, since answers of different
 * times share it.
 */

import type { StateView } from '../../state/state.ts';

export function entityTag({ ledgerId }: StateView, type: string, changedAt: number): string {
  if (last.changedAt !== changedAt || last.type !== type || last.ledgerId !== ledgerId) {
    last = { ledgerId, type, changedAt, tag: `W/"${ledgerId}-${type}-${changedAt}"` };
  }
  return last.tag;
}

/** In a market that moves, most accounts have changed with the newest block, and share a tag. */
let last = { ledgerId: '', type: '', changedAt: -1, tag: '' };

/** The tag of an answer about the past, which never changes: a strong one. */
export function pastTag(ledgerId: string, type: string, height: number): string {
  return `"${ledgerId}-${type}-at-${height}"`;
}

/**
 * Tags of one If-None-Match that are looked at. A client has one tag of an answer, or a few; a header of
 * thousands would take longer to compare than the answer to compute.
 */
const TAGS_MAX = 32;

/** Whether an If-None-Match header names the tag among its first ones, compared as weak tags are. */
export function namesTag(header: string | undefined, tag: string): boolean {
  if (header === undefined) return false;
  if (header === tag || header === '*') return true;
  const opaque = tag.replace(/^W\//, '');
  return header.split(',', TAGS_MAX).some((part) => {
    const named = part.trim();
    return named === '*' || named.replace(/^W\//, '') === opaque;
  });
}
