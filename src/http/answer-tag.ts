/**
 * What an answer says apart from its time. Two answers that say the same are not sent twice: neither
 * to whoever polls with the tag of the last one, nor to whoever is pushed to.
 */

import { createHash } from 'node:crypto';

/** Nothing else in an answer looks like this: a quote within a text would be escaped. */
const TIME = /"(?:time|serverTime)":\d+/g;

const TAG_BYTES = 16;

export function withoutTime(answer: string): string {
  return answer.replace(TIME, '');
}

/** The entity tag of an answer: a weak one, since answers of different times share it. */
export function answerTag(answer: string): string {
  const hash = createHash('sha256').update(withoutTime(answer)).digest();
  return `W/"${hash.subarray(0, TAG_BYTES).toString('base64url')}"`;
}

/** Whether an If-None-Match header names the tag, compared as weak tags are. */
export function namesTag(header: string | undefined, tag: string): boolean {
  if (header === undefined) return false;
  const opaque = tag.slice(2);
  return header.split(',').some((part) => {
    const named = part.trim();
    return named === '*' || named.replace(/^W\//, '') === opaque;
  });
}
