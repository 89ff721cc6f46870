/** Reads errors of the push connection. The kind of an error is read from its text. */

import { isJsonObject, type JsonObject } from '../../../events/fields.ts';
import { parseUpstreamJson } from '../answers/upstream-json.ts';

export type PushError =
  /** Too many messages were sent in a minute. Messages without a response must be sent again. */
  | { readonly kind: 'messages' }
  /** The upstream already has the subscription. */
  | { readonly kind: 'subscribed'; readonly subscription: JsonObject }
  /**
   * A subscription is refused. If the text names no subscription, it is the first subscription
   * without a response.
   */
  | { readonly kind: 'refused'; readonly subscription?: JsonObject; readonly isAboutUsers: boolean }
  /** Another message is refused, for example a ping. */
  | { readonly kind: 'other' };

const OTHER: PushError = { kind: 'other' };
/** The maximum length of JSON in an error. The JSON of a subscription is shorter. */
const JSON_LENGTH_MAX = 4_096;

export function readPushError(text: string): PushError {
  if (/messages per minute/i.test(text)) return { kind: 'messages' };
  if (/^already unsubscribed|pending post requests/i.test(text)) return OTHER;
  const json = findJson(text);
  if (json === undefined) return { kind: 'refused', isAboutUsers: /\busers\b/i.test(text) };
  const subscription = 'method' in json ? subscriptionOf(json) : json;
  if (subscription === undefined) return OTHER;
  const kind = /^already subscribed/i.test(text) ? 'subscribed' : 'refused';
  return { kind, subscription, isAboutUsers: false };
}

/** Returns the subscription of a request, if the error quotes the whole request. */
function subscriptionOf({ method, subscription }: JsonObject): JsonObject | undefined {
  return method === 'subscribe' && isJsonObject(subscription) ? subscription : undefined;
}

/**
 * Returns the JSON object in the text; returns undefined if there is none, or if the JSON was cut.
 */
function findJson(text: string): JsonObject | undefined {
  const start = text.indexOf('{');
  const end = text.lastIndexOf('}') + 1;
  if (start === -1 || end <= start || end - start > JSON_LENGTH_MAX) return undefined;
  try {
    const json = parseUpstreamJson(text.slice(start, end));
    return isJsonObject(json) ? json : undefined;
  } catch {
    return undefined;
  }
}
