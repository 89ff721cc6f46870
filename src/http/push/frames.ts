/**
 * The frames of a push connection, in the form that existing clients use. From the client:
 *
 *   {"method":"subscribe","subscription":{"type":"clearinghouseState","user":"0x...","dex":""}}
 *   {"method":"unsubscribe","subscription":{...}}
 *   {"method":"post","id":1,"request":{"type":"info","payload":{"type":"meta"}}}
 *   {"method":"ping"}
 *
 * To the client: {"channel":...,"data":...}. The channel is the type of a subscription, or
 * subscriptionResponse, post, pong or error.
 */

import { isJsonObject, type JsonObject } from '../../events/fields.ts';
import type { StateQuestion } from '../../info/question.ts';
import { AS_DATA } from '../../info/question-type.ts';
import { RequestError, wrongValue } from '../../info/request-error.ts';
import type { Provenance } from '../answering/account-reads.ts';
import { findExcess } from '../message/parse-limits.ts';
import type { Reply } from '../message/reply.ts';

export type Frame =
  | { readonly method: 'ping' }
  | { readonly method: 'subscribe' | 'unsubscribe'; readonly subscription: unknown }
  | { readonly method: 'post'; readonly id: number; readonly question: unknown };

/** An invalid frame. The message of the refusal is sent to the client. */
export class FrameError extends Error {
  readonly refusal: RequestError;
  /** The id of the refused post. The client uses the id to match the error to its post. */
  readonly postId: number | undefined;

  constructor(refusal: RequestError, postId?: number) {
    super(refusal.message);
    this.name = 'FrameError';
    this.refusal = refusal;
    this.postId = postId;
  }
}

export const PONG = '{"channel":"pong"}';

/**
 * Finds the id of an unread post. Returns undefined unless the frame starts in the usual form:
 * {"method":"post","id":1,
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
    throw new FrameError(wrongValue('frame', source, 'an object with a method'));
  }
  const { method, subscription } = source;
  if (method === 'ping') return { method };
  if (method === 'subscribe' || method === 'unsubscribe') return { method, subscription };
  if (method === 'post') return parsePost(source);
  throw new FrameError(wrongField('method', method, 'one of subscribe, unsubscribe, post, ping'));
}

function parseJson(text: string): unknown {
  const excess = findExcess(text);
  if (excess !== undefined) {
    const message = `frame: got ${excess}, expected one message`;
    throw new FrameError(new RequestError('invalid_field', message, 'frame'));
  }
  try {
    return JSON.parse(text);
  } catch {
    throw new FrameError(wrongValue('frame', text, 'a JSON object', 'malformed_json'));
  }
}

const ID_EXPECTED = `a whole number from 0 to ${Number.MAX_SAFE_INTEGER}`;

function parsePost({ id, request }: JsonObject): Frame {
  if (!Number.isSafeInteger(id) || (id as number) < 0) {
    throw new FrameError(wrongField('id', id, ID_EXPECTED));
  }
  const postId = id as number;
  if (!isJsonObject(request)) {
    throw new FrameError(wrongField('request', request, 'an object with type and payload'), postId);
  }
  if (request['type'] !== 'info') {
    const expected = '"info": the service is read-only';
    throw new FrameError(wrongField('request.type', request['type'], expected), postId);
  }
  return { method: 'post', id: postId, question: request['payload'] };
}

function wrongField(field: string, value: unknown, expected: string): RequestError {
  const code = value === undefined ? 'missing_field' : 'invalid_field';
  return wrongValue(field, value, expected, code);
}

/** Formats the canonical form of a subscription. This form is the name of the subscription. */
export function formatSubscription(question: StateQuestion): string {
  const fields = question.formatFields();
  return `{"type":"${question.type}"${fields === '' ? '' : `,${fields}`}}`;
}

export function formatAck(method: 'subscribe' | 'unsubscribe', subscription: string): string {
  return `{"channel":"subscriptionResponse","data":{"method":"${method}","subscription":${subscription}}}`;
}

/** The text before and after the answer in a pushed frame. */
export interface StateFormat {
  readonly before: string;
  /**
   * True if the closing brace of the answer is left out, because `after` adds members to the
   * answer.
   */
  readonly isAnswerOpened: boolean;
  after(provenance: Provenance): string;
}

/**
 * Creates the format of a question's frames. A frame contains the answer, the fields of the
 * question, and the ledger position.
 */
export function createStateFormat(question: StateQuestion): StateFormat {
  const { type, questionType } = question;
  const name = questionType.push?.name;
  const start = `{"channel":"${type}","data":`;
  if (name === AS_DATA) return { before: start, isAnswerOpened: true, after: formatEnd };
  const fields = question.formatFields();
  const before = `${start}{${fields === '' ? '' : `${fields},`}"${name}":`;
  return { before, isAnswerOpened: false, after: formatEnd };
}

function formatEnd(provenance: Provenance): string {
  return `${formatProvenance(provenance)}}}`;
}

/** Formats the ledger position of an answer, and on a partial ledger the age of its accounts. */
function formatProvenance({ height, time, accountTime, isFromUpstream }: Provenance): string {
  const position = height < 0 ? '' : `,"height":${height},"time":${time}`;
  const age = accountTime < 0 ? '' : `,"accountTime":${accountTime}`;
  return `${position}${age}${isFromUpstream ? ',"accountSource":"upstream"' : ''}`;
}

/**
 * Formats the frame that answers a post. A frame is JSON, so a CSV answer becomes a JSON string.
 */
export function formatAnswer(id: number, reply: Reply): string {
  const { type, body, isCsv } = reply;
  const data = isCsv ? JSON.stringify(String(body)) : body;
  return (
    `{"channel":"post","data":{"id":${id},"response":{"type":"info","payload":` +
    `{"type":"${type}","data":${data}${formatProvenance(reply)}}}}}`
  );
}
