/**
 * The frames of a push connection, in the form that existing clients speak. In:
 *
 *   {"method":"subscribe","subscription":{"type":"clearinghouseState","user":"0x...","dex":""}}
 *   {"method":"unsubscribe","subscription":{...}}
 *   {"method":"post","id":1,"request":{"type":"info","payload":{"type":"meta"}}}
 *   {"method":"ping"}
 *
 * Out: {"channel":...,"data":...}, where the channel is the type of a subscription, or one of
 * subscriptionResponse, post, pong, error.
 */

import { isJsonObject, type JsonObject } from '../../events/fields.ts';
import { describeValue } from '../../events/refusal.ts';
import { AS_DATA, type Question } from '../../info/request.ts';
import type { RequestError } from '../../info/request-error.ts';
import type { StateView } from '../../state/state.ts';
import type { Reply } from '../reply.ts';

export type Frame =
  | { readonly method: 'ping' }
  | { readonly method: 'subscribe' | 'unsubscribe'; readonly subscription: unknown }
  | { readonly method: 'post'; readonly id: number; readonly question: unknown };

/** An invalid frame; the message is sent to the client. */
export class FrameError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'FrameError';
  }
}

/** An invalid post; the client matches the error by the post's id. */
export class PostError extends FrameError {
  readonly id: number;

  constructor(id: number, message: string) {
    super(message);
    this.id = id;
  }
}

export const PONG = '{"channel":"pong"}';

export function parseFrame(text: string): Frame {
  const source = parseJson(text);
  if (!isJsonObject(source)) {
    throw new FrameError(`frame: got ${describeValue(source)}, expected an object with a method`);
  }
  const { method, subscription } = source;
  if (method === 'ping') return { method };
  if (method === 'subscribe' || method === 'unsubscribe') return { method, subscription };
  if (method === 'post') return parsePost(source);
  const expected = 'one of subscribe, unsubscribe, post, ping';
  throw new FrameError(`method: got ${describeValue(method)}, expected ${expected}`);
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new FrameError(`frame: got ${describeValue(text)}, expected a JSON object`);
  }
}

function parsePost({ id, request }: JsonObject): Frame {
  if (!Number.isSafeInteger(id) || (id as number) < 0) {
    throw new FrameError(`id: got ${describeValue(id)}, expected a whole number, 0 or more`);
  }
  const postId = id as number;
  if (!isJsonObject(request)) {
    const expected = 'an object with type and payload';
    throw new PostError(postId, `request: got ${describeValue(request)}, expected ${expected}`);
  }
  if (request['type'] !== 'info') {
    const got = describeValue(request['type']);
    throw new PostError(
      postId,
      `request.type: got ${got}, expected "info": the service is read-only`,
    );
  }
  return { method: 'post', id: postId, question: request['payload'] };
}

/** A subscription in its canonical form, which identifies it. */
export function formatSubscription(question: Question): string {
  const fields = question.formatFields();
  return `{"type":"${question.type}"${fields === '' ? '' : `,${fields}`}}`;
}

export function formatAck(method: 'subscribe' | 'unsubscribe', subscription: string): string {
  return `{"channel":"subscriptionResponse","data":{"method":"${method}","subscription":${subscription}}}`;
}

/** Formats an answer as the frame that is pushed. */
export type FormatState = (answer: string, state: StateView) => string;

/** The frame has the answer, the fields of its question, and the ledger position. */
export function createStateFormat(question: Question): FormatState {
  const { type, request } = question;
  const { pushedAs } = request;
  if (pushedAs === AS_DATA) {
    const start = `{"channel":"${type}","data":`;
    return (answer, state) => `${start}${answer.slice(0, -1)}${formatPosition(state)}`;
  }
  const fields = question.formatFields();
  const start = `{"channel":"${type}","data":{${fields === '' ? '' : `${fields},`}"${pushedAs}":`;
  return (answer, state) => `${start}${answer}${formatPosition(state)}`;
}

/** The end of a frame with a state. */
function formatPosition({ height, time }: StateView): string {
  return `,"height":${height},"time":${time}}}`;
}

/** The frame that answers a post. */
export function formatAnswer(id: number, { type, body, height, time }: Reply): string {
  return (
    `{"channel":"post","data":{"id":${id},"response":{"type":"info","payload":` +
    `{"type":"${type}","data":${body},"height":${height},"time":${time}}}}}`
  );
}

export function formatPostError(id: number, message: string): string {
  const response = { type: 'error', payload: message };
  return JSON.stringify({ channel: 'post', data: { id, response } });
}

/**
 * Clients parse what is between the first "{" and the last "}" of an error's text as the frame or
 * subscription that it is about, so other braces are escaped. They only occur in quoted values, where
 * the escape is valid JSON.
 */
export function formatError(message: string, about?: string): string {
  const plain = message.replaceAll('{', '\\u007b').replaceAll('}', '\\u007d');
  const data = about === undefined ? plain : `${plain} ${about}`;
  return JSON.stringify({ channel: 'error', data });
}

/** Maximum length of the refused frame in an error's text. */
const ECHO_LENGTH_MAX = 1000;

/** The refused frame as JSON, for the error's text; undefined if too long. */
export function echo(refused: unknown): string | undefined {
  if (!isJsonObject(refused)) return undefined;
  try {
    const text = JSON.stringify(refused);
    return text.length <= ECHO_LENGTH_MAX ? text : undefined;
  } catch {
    // Nested too deeply for JSON.stringify.
    return undefined;
  }
}

/** A refusal in one line, its code first. */
export function describeRefusal({ code, message }: RequestError): string {
  return `${code}: ${message}`;
}
