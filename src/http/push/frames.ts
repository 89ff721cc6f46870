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
import type { Provenance } from '../answering/account-reads.ts';
import { findExcess } from '../message/parse-limits.ts';
import type { Reply } from '../message/reply.ts';

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

/**
 * The id of an unread post, if the frame begins as clients write it: {"method":"post","id":1,
 */
export function findPostId(frame: Buffer): number | undefined {
  const [, id] = POST_START.exec(frame.toString('latin1', 0, POST_START_LENGTH)) ?? [];
  return id === undefined ? undefined : Number(id);
}

const POST_START = /^\{ ?"method": ?"post", ?"id": ?(\d{1,15}),/;
const POST_START_LENGTH = 64;

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
  const excess = findExcess(text);
  if (excess !== undefined) throw new FrameError(`frame: got ${excess}, expected one message`);
  try {
    return JSON.parse(text);
  } catch {
    throw new FrameError(`frame: got ${describeValue(text)}, expected a JSON object`);
  }
}

const ID_EXPECTED = `a whole number from 0 to ${Number.MAX_SAFE_INTEGER}`;

function parsePost({ id, request }: JsonObject): Frame {
  if (!Number.isSafeInteger(id) || (id as number) < 0) {
    throw new FrameError(`id: got ${describeValue(id)}, expected ${ID_EXPECTED}`);
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

/** What is around the answer in a frame that is pushed. */
export interface StateFormat {
  readonly before: string;
  /** True if the answer's own closing brace is left out: what comes after are members of it. */
  readonly isAnswerOpened: boolean;
  after(provenance: Provenance): string;
}

/** The frame has the answer, the fields of its question, and the ledger position. */
export function createStateFormat(question: Question): StateFormat {
  const { type, request } = question;
  const { pushedAs } = request;
  const start = `{"channel":"${type}","data":`;
  if (pushedAs === AS_DATA) return { before: start, isAnswerOpened: true, after: formatEnd };
  const fields = question.formatFields();
  const before = `${start}{${fields === '' ? '' : `${fields},`}"${pushedAs}":`;
  return { before, isAnswerOpened: false, after: formatEnd };
}

function formatEnd(provenance: Provenance): string {
  return `${formatProvenance(provenance)}}}`;
}

/** The ledger position of an answer, and on a partial ledger the age of its accounts. */
function formatProvenance({ height, time, accountTime, isFromUpstream }: Provenance): string {
  const position = height < 0 ? '' : `,"height":${height},"time":${time}`;
  const age = accountTime < 0 ? '' : `,"accountTime":${accountTime}`;
  return `${position}${age}${isFromUpstream ? ',"accountSource":"upstream"' : ''}`;
}

/** The frame that answers a post. A frame is JSON, so CSV is a text in it. */
export function formatAnswer(id: number, reply: Reply): string {
  const { type, body, isCsv } = reply;
  const data = isCsv ? JSON.stringify(String(body)) : body;
  return (
    `{"channel":"post","data":{"id":${id},"response":{"type":"info","payload":` +
    `{"type":"${type}","data":${data}${formatProvenance(reply)}}}}}`
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
  const text = JSON.stringify(refused);
  return text.length <= ECHO_LENGTH_MAX ? text : undefined;
}

/** A refusal in one line, its code first. */
export function describeRefusal({ code, message }: RequestError): string {
  return `${code}: ${message}`;
}
