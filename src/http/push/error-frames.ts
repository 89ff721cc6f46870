/**
 * The frames that report errors. Each frame has the text that existing clients expect. The member
 * `error` has the same information in a structure:
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

/** The parts of a refused frame that could be read. */
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

/** Formats a refusal as one line that starts with the code of the refusal. */
export function describeRefusal({ code, message }: RequestError): string {
  return `${code}: ${message}`;
}

/**
 * Formats an error for the channel `post` if the post's id is known, otherwise for the channel
 * `error`.
 */
export function formatError(refusal: RequestError, text: string, id?: number): string {
  const error = describeError(refusal, id === undefined ? {} : { method: 'post', id });
  if (id === undefined)
    return JSON.stringify({ channel: 'error', data: escapeBraces(text), error });
  const response = { type: 'error', payload: text };
  return JSON.stringify({ channel: 'post', data: { id, response }, error });
}

/**
 * Formats the refusal of a subscription. If the subscription is invalid, the text ends with the
 * subscription; otherwise the text ends with the whole frame.
 */
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

/**
 * Formats the error for a subscription that is already open, or already closed. `name` is the
 * canonical form of the subscription.
 */
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
 * Formats an error that repeats the refused frame or subscription in its text. Clients parse the
 * part of the text from the first "{" to the last "}" as the refused frame or subscription, so all
 * other braces in the text are escaped.
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

/**
 * Escapes the braces of a text. Braces only occur in quoted values, where the escape is valid JSON.
 */
function escapeBraces(text: string): string {
  return text.replaceAll('{', '\\u007b').replaceAll('}', '\\u007d');
}

/** Describes an error as an object. JSON.stringify leaves out members that are undefined. */
function describeError(refusal: RequestError, frame: RefusedFrame): object {
  const { code, message, field } = refusal;
  return { code, message, field, retryAfterSeconds: retryAfterOf(refusal), ...frame };
}

/** Maximum length of a refused frame or subscription that is repeated in an error. */
const ECHO_LENGTH_MAX = 1000;

/**
 * Returns the refused value; returns undefined if the value is not an object, or too long to be
 * sent back.
 */
function findShort(refused: unknown): unknown {
  if (!isJsonObject(refused)) return undefined;
  return JSON.stringify(refused).length <= ECHO_LENGTH_MAX ? refused : undefined;
}
