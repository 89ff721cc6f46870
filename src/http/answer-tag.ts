/**
 * An answer's content apart from its time. The same content is not sent twice: a poll with its tag
 * gets a 304, and a subscription gets nothing.
 */

import { hash } from 'node:crypto';

/** Matches nothing else in an answer: quotes within a text are escaped. */
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

/** The entity tag of an answer without its time. */
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
