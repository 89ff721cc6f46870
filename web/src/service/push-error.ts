/**
 * The errors of a push connection, which say what subscription is refused and when to ask again.
 */

import type { Question } from '../figures/answers.ts';
import type { PushMessage } from './push.ts';

export interface PushError {
  readonly code: string;
  readonly message: string;
  /** The member of the frame that is wrong. */
  readonly field?: string;
  readonly retryAfterSeconds?: number;
  readonly method?: string;
  /** The subscription that is refused; undefined if the error does not name it. */
  readonly subscription?: Question;
}

/** Returns the error; returns undefined if the message is not an error. */
export function readPushError({ channel, data, error }: PushMessage): PushError | undefined {
  if (channel !== 'error') return undefined;
  return error ?? readText(String(data));
}

/**
 * Reads an error that is only a text, as an older service or the real exchange sends it. The text
 * ends with the refused frame or subscription as JSON; the words before the JSON are for people.
 */
function readText(text: string): PushError {
  const start = text.indexOf('{');
  const error = { code: '', message: (start === -1 ? text : text.slice(0, start)).trim() };
  const frame = start === -1 ? undefined : parseFrame(text.slice(start));
  return frame === undefined ? error : { ...error, subscription: frame.subscription ?? frame };
}

function parseFrame(text: string): (Question & { readonly subscription?: Question }) | undefined {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Returns true if the service already pushes the answers of this subscription. */
export function isAlreadySubscribed({ code, field, method }: PushError): boolean {
  return code === 'invalid_field' && field === 'method' && method === 'subscribe';
}

/** Returns the error in one line, with the code first. */
export function describePushError({ code, message }: PushError): string {
  return code === '' ? message : `${code}: ${message}`;
}
