/**
 * What an answer says apart from its time. Two answers that say the same are not sent twice: neither
 * to whoever polls with the tag of the last one, nor to whoever is pushed to.
 */

import { hash } from 'node:crypto';

/** Nothing else in an answer looks like this: a quote within a text would be escaped. */
const TIME = /"(?:time|serverTime)":\d+/g;

/** 132 bits of SHA-256, in base64url. */
const TAG_LENGTH = 22;

export function withoutTime(answer: string): string {
  return answer.replace(TIME, '');
}

/** The entity tag of an answer: a weak one, since answers of different times share it. */
export function answerTag(answer: string): string {
  return tagOf(withoutTime(answer));
}

/** The entity tag of an answer from which the time was taken already. */
export function tagOf(content: string): string {
  return `W/"${hash('sha256', content, 'base64url').slice(0, TAG_LENGTH)}"`;
}

/** Whether an If-None-Match header names the tag, compared as weak tags are. */
export function namesTag(header: string | undefined, tag: string): boolean {
  if (header === undefined || header === tag) return header === tag;
  const opaque = tag.slice(2);
  return header.split(',').some((part) => {
    const named = part.trim();
    return named === '*' || named.replace(/^W\//, '') === opaque;
  });
}
