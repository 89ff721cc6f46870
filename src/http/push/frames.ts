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

/** A frame that is not understood, or asks for what is not there; the text goes to the client. */
export class FrameError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'FrameError';
  }
}

/** What a post cannot do; the client finds it by the post's id. */
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
      `request.type: got ${got}, expected "info": nothing is changed here`,
    );
  }
  return { method: 'post', id: postId, question: request['payload'] };
}

/** A subscription in one spelling: what tells it from others. */
export function formatSubscription(question: Question): string {
  const fields = question.formatFields();
  return `{"type":"${question.type}"${fields === '' ? '' : `,${fields}`}}`;
}

export function formatAck(method: 'subscribe' | 'unsubscribe', subscription: string): string {
  return `{"channel":"subscriptionResponse","data":{"method":"${method}","subscription":${subscription}}}`;
}

/** Writes an answer as the frame that is pushed. */
export type FormatState = (answer: string, state: StateView) => string;

/** Frames with the answer, the fields of its question, and where in the ledger it is from. */
export function createStateFormat(question: Question): FormatState {
  const { type, request } = question;
  const { pushedAs } = request;
  if (pushedAs === AS_DATA) {
    const start = `{"channel":"${type}","data":`;
    return (answer, state) => `${start}${answer.slice(0, -1)}${formatPlace(state)}`;
  }
  const fields = question.formatFields();
  const start = `{"channel":"${type}","data":{${fields === '' ? '' : `${fields},`}"${pushedAs}":`;
  return (answer, state) => `${start}${answer}${formatPlace(state)}`;
}

/** The end of a frame with a state. */
function formatPlace({ height, time }: StateView): string {
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
 * Clients look for the first "{" and the last "}" of an error's text, and take what is between for
 * the frame that it is about, or its subscription: other braces are spelled out. They can only be in
 * a quoted value, where that is a way to write them.
 */
export function formatError(message: string, about?: string): string {
  const plain = message.replaceAll('{', '\\u007b').replaceAll('}', '\\u007d');
  const data = about === undefined ? plain : `${plain} ${about}`;
  return JSON.stringify({ channel: 'error', data });
}

/** An echo that is longer helps nobody. */
const ECHO_LENGTH_MAX = 1000;

/** What was refused, as it came, for the error's text; undefined if too long. */
export function echo(refused: unknown): string | undefined {
  if (!isJsonObject(refused)) return undefined;
  try {
    const text = JSON.stringify(refused);
    return text.length <= ECHO_LENGTH_MAX ? text : undefined;
  } catch {
    // Nested deeper than can be written.
    return undefined;
  }
}

/** A refusal in one line, its code first. */
export function describeRefusal({ code, message }: RequestError): string {
  return `${code}: ${message}`;
}
