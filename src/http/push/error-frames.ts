/**
 * The frames that report errors. Each has the text that existing clients know, and next to the text the
 * member `error` with the same in a structure:
 *
 *   {"channel":"error","data":"Invalid subscription: invalid_address: user: got ...","error":{
 *     "code":"invalid_address","message":"user: got ...","field":"user","method":"subscribe","subscription":{...}}}
 *
 *   {"channel":"post","data":{"id":1,"response":{"type":"error","payload":"unknown_dex: dex: got ..."}},"error":{
 *     "code":"unknown_dex","message":"dex: got ...","field":"dex","method":"post","id":1}}
 */

import { isJsonObject } from '../../events/fields.ts';
import { RequestError } from '../../info/request-error.ts';
import { retryAfterOf } from '../message/reply.ts';

/** The frame that an error answers, as far as it could be read. */
interface RefusedFrame {
  readonly method?: 'subscribe' | 'unsubscribe' | 'post';
  readonly subscription?: unknown;
  /** The id of a post. */
  readonly id?: number | undefined;
}

type SubscriptionFrame = RefusedFrame & {
  readonly method: 'subscribe' | 'unsubscribe';
  readonly subscription: unknown;
};

/** A refusal in one line, its code first. */
export function describeRefusal({ code, message }: RequestError): string {
  return `${code}: ${message}`;
}

/** An error on the channel `post` if the post's id is known, otherwise on `error`. */
export function formatError(refusal: RequestError, text: string, id?: number): string {
  const error = describeError(refusal, id === undefined ? {} : { method: 'post', id });
  if (id === undefined)
    return JSON.stringify({ channel: 'error', data: escapeBraces(text), error });
  const response = { type: 'error', payload: text };
  return JSON.stringify({ channel: 'post', data: { id, response }, error });
}

/** The text ends with the subscription, or with the whole frame if the subscription is valid. */
export function formatSubscriptionError(refusal: RequestError, frame: SubscriptionFrame): string {
  const subscription = findShort(frame.subscription);
  const { method } = frame;
  if (refusal.status === 422) {
    const text = `Invalid subscription: ${describeRefusal(refusal)}`;
    return formatWithEcho(refusal, text, { method, subscription }, subscription);
  }
  const text = `Subscription refused: ${describeRefusal(refusal)}`;
  const echo = findShort({ method, subscription: frame.subscription });
  return formatWithEcho(refusal, text, { method, subscription }, echo);
}

/** The subscription, in its canonical form, is already as the client wants to have it. */
export function formatAlready(method: 'subscribe' | 'unsubscribe', name: string): string {
  const subscription = JSON.parse(name) as unknown;
  const [expected, state] =
    method === 'subscribe' ? ['unsubscribe', 'open'] : ['subscribe', 'not open'];
  const message = `method: got "${method}", expected "${expected}": the subscription is ${state}`;
  const refusal = new RequestError('invalid_field', message, 'method');
  const frame = { method, subscription };
  return formatWithEcho(refusal, `Already ${method}d:`, frame, subscription);
}

/**
 * Clients parse what is between the first "{" and the last "}" of an error's text as the frame or
 * subscription that the error is about, so other braces are escaped.
 */
function formatWithEcho(
  refusal: RequestError,
  text: string,
  frame: RefusedFrame,
  echo: unknown,
): string {
  const plain = escapeBraces(text);
  const data = echo === undefined ? plain : `${plain} ${JSON.stringify(echo)}`;
  return JSON.stringify({ channel: 'error', data, error: describeError(refusal, frame) });
}

/** Braces only occur in quoted values, where the escape is valid JSON. */
function escapeBraces(text: string): string {
  return text.replaceAll('{', '\\u007b').replaceAll('}', '\\u007d');
}

/** Members that are undefined are left out of the JSON. */
function describeError(refusal: RequestError, frame: RefusedFrame): object {
  const { code, message, field } = refusal;
  return { code, message, field, retryAfterSeconds: retryAfterOf(refusal), ...frame };
}

/** Maximum length of the refused frame, or of its subscription, in an error. */
const ECHO_LENGTH_MAX = 1000;

/** The value, unless it is no object, or too long to be sent back. */
function findShort(refused: unknown): unknown {
  if (!isJsonObject(refused)) return undefined;
  return JSON.stringify(refused).length <= ECHO_LENGTH_MAX ? refused : undefined;
}
