/** The form of a case: what is asked, and what every transport says to it. */

import type { RequestErrorCode } from '../../src/info/request-error.ts';
import { formatRequest, QUESTION } from '../../tools/harness/service.ts';

/** A request; `key` in a path or in raw bytes is where the secret goes. */
export interface Asked {
  readonly key?: 'expired' | 'unknown';
  readonly method?: string;
  readonly path?: string;
  readonly version?: string;
  /** The question of a POST, as JSON; it can be posted over push too. */
  readonly question?: unknown;
  /** The body, where it is not the question. */
  readonly body?: string | Buffer;
  readonly headers?: Readonly<Record<string, string | undefined>>;
  /** All of the bytes, where they are no ordinary request. */
  readonly bytes?: string;
  /** The client sends the head, and waits for the status 100 before it sends the body. */
  readonly asksFirst?: true;
}

export interface Expected {
  readonly status: number;
  /** The question whose answer is the body. */
  readonly answerTo?: unknown;
  /** The body of an answer that the exchange gives. */
  readonly body?: string;
  readonly error?: RequestErrorCode;
  readonly message?: string;
  readonly field?: string;
  /** Beside those that every response has; names in lower case. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Whether the answer has a tag, as one to a GET does. */
  readonly isTagged?: boolean;
  /** 'later': not announced by the response. What comes after it cannot be read as a request. */
  readonly closes?: boolean | 'later';
  /** Statuses of the responses to requests that were sent in the same bytes, behind the first one. */
  readonly behind?: readonly number[];
  /** A page or a WebSocket: of the headers, only those above are checked. */
  readonly isPage?: true;
}

export interface Case {
  readonly name: string;
  /** Who answers, if it is not the ledger: the archive, or the exchange to which the question is passed on. */
  readonly from?: 'archive' | 'exchange';
  /** Whether the key has the budget below; each way of sending the case has a key of its own. */
  readonly hasBudget?: true;
  /** Questions that the key has asked before. */
  readonly before?: readonly Asked[];
  readonly asked: Asked;
  readonly expected: Expected;
}

/** In the place of the secret, plain and percent-encoded. */
export const KEY = '{key}';
export const ENCODED_KEY = '{encoded key}';
export const BODY_BYTES_MAX = 65_536;
export const HEADER_BYTES_MAX = 16_384;
export const AUCTION = { type: 'perpDeployAuctionStatus' };
/** A unit comes back in 90 s. */
export const BUDGET = { weight: 40, periodMs: 3_600_000 };

/** A way of asking on which a case does not have the answer of the table. */
export interface Deviation {
  readonly case: string;
  readonly way: 'POST' | 'GET' | 'push';
  readonly reason: string;
}

export type Fields = Readonly<Record<string, unknown>>;

/** What the ledger knows, to ask about. */
export interface Subjects {
  readonly user: string;
  readonly dex: string;
  readonly coin: string;
  readonly table: number;
}

export const MALFORMED: Expected = { status: 400, error: 'malformed_request', closes: true };

export function answered(name: string, asked: Asked, question: unknown = AUCTION): Case {
  return { name, asked, expected: { status: 200, answerTo: question } };
}

export function minHeight(height: string): Asked {
  return { body: QUESTION, headers: { 'Ledger-Min-Height': height } };
}

export function maxAge(age: string): Asked {
  return { body: QUESTION, headers: { 'Account-Max-Age': age } };
}

export function queryOf(question: Fields): string {
  const pairs = Object.entries(question).map(([name, value]) => [name, String(value)]);
  return new URLSearchParams(pairs).toString();
}

/** The bytes of what is asked. */
export function formatAsked(asked: Asked, secret: string): Buffer {
  const encoded = Array.from(secret, (letter) => `%${letter.charCodeAt(0).toString(16)}`).join('');
  const fill = (text: string) => text.replaceAll(KEY, secret).replaceAll(ENCODED_KEY, encoded);
  if (asked.bytes !== undefined) return Buffer.from(fill(asked.bytes), 'latin1');
  const { method = 'POST', path = `/${KEY}/info`, question, headers = {}, version = '1.1' } = asked;
  const body = asked.body ?? (question === undefined ? '' : JSON.stringify(question));
  return formatRequest({ method, path: fill(path), version, headers, body });
}
