/**
 * Reads a response of the upstream. Decides whether it is a valid answer, and what kind of error it
 * is if it is not.
 */

import { isUtf8 } from 'node:buffer';
import type { UpstreamAddress } from '../upstream-address.ts';
import { UpstreamError, type UpstreamErrorKind } from '../upstream-error.ts';
import type { HttpResponse } from '../upstream-http.ts';
import { JsonScan } from './json-scan.ts';
import { readOwnRefusal } from './own-refusal.ts';
import { NestingError, parseUpstreamJson } from './upstream-json.ts';
import type { WorkQueue } from './work-queue.ts';

/** The statuses that a proxy sends if the server behind the proxy does not answer. */
const GATEWAY_STATUSES: readonly number[] = [502, 503, 504];
const BYTE_ORDER_MARK = Buffer.from('\ufeff');
/** The number of bytes that are checked at a time. This takes much less than a millisecond. */
const STEP_BYTES = 64 << 10;

/** A checked answer: it is JSON, and does not contain one of our keys. */
export class UpstreamAnswer {
  /** The bytes that the upstream sent, without a byte order mark. */
  readonly bytes: Buffer;
  /** The number of rows if the answer is a list; otherwise undefined. */
  readonly rows: number | undefined;
  #json: { readonly value: unknown } | undefined;

  constructor(bytes: Buffer, rows: number | undefined, json?: { readonly value: unknown }) {
    this.bytes = bytes;
    this.rows = rows;
    this.#json = json;
  }

  get text(): string {
    return this.bytes.toString();
  }

  /** The JSON value, parsed at the first use. An answer that is only passed on is never parsed. */
  get json(): unknown {
    this.#json ??= { value: JSON.parse(this.text) };
    return this.#json.value;
  }
}

/**
 * Returns true if the response shows that the upstream itself reads requests, and not only a proxy.
 */
export function isUpstreamAlive({ status }: HttpResponse): boolean {
  return !GATEWAY_STATUSES.includes(status);
}

/** Returns the parsed answer, or an error. If the error quotes the response, secrets are hidden. */
export function readUpstreamAnswer(
  response: HttpResponse,
  address: UpstreamAddress,
): UpstreamAnswer | UpstreamError {
  const { body } = response;
  const refusal = refuseHead(response, address);
  if (refusal !== undefined) return refusal;
  if (address.containsKey(body)) return REPEATS_KEY;
  try {
    const bytes = requireText(body);
    const value = parseUpstreamJson(bytes.toString());
    return new UpstreamAnswer(bytes, Array.isArray(value) ? value.length : undefined, { value });
  } catch (error) {
    return describeFault(body, error);
  }
}

/**
 * Returns an answer that is passed on, or an error. The answer is checked in slices, and is not
 * parsed.
 */
export async function checkUpstreamAnswer(
  response: HttpResponse,
  address: UpstreamAddress,
  work: WorkQueue,
): Promise<UpstreamAnswer | UpstreamError> {
  const { body } = response;
  const refusal = refuseHead(response, address);
  if (refusal !== undefined) return refusal;
  try {
    const bytes = requireText(body);
    const scan = new JsonScan(bytes);
    let from = 0;
    let isRepeating = false;
    const look = () => {
      isRepeating ||= address.containsKey(bytes, from, from + STEP_BYTES);
      from += STEP_BYTES;
      return isRepeating || scan.advance(STEP_BYTES);
    };
    // Most answers are short. They are checked at once, and do not wait for the check of a long
    // answer.
    if (bytes.length > STEP_BYTES || !look()) await work.run(look);
    return isRepeating ? REPEATS_KEY : new UpstreamAnswer(bytes, scan.rows);
  } catch (error) {
    return describeFault(body, error);
  }
}

const REPEATS_KEY = new UpstreamError('malformed', 'the response repeats the key of the request');

/** Returns the bytes without a byte order mark. Throws if the bytes are not UTF-8. */
function requireText(body: Buffer): Buffer {
  if (!isUtf8(body)) throw new SyntaxError('it is not UTF-8');
  const isMarked = body.subarray(0, BYTE_ORDER_MARK.length).equals(BYTE_ORDER_MARK);
  return isMarked ? body.subarray(BYTE_ORDER_MARK.length) : body;
}

/**
 * Describes why the body is not an answer, without the cause, because the cause quotes the
 * response.
 */
function describeFault({ length }: Buffer, error: unknown): UpstreamError {
  const fault = error instanceof NestingError ? error.message : 'not JSON';
  return new UpstreamError('malformed', `the response of ${length} bytes is ${fault}`);
}

/**
 * Returns an error if the status or the headers show that the response is not an answer; otherwise
 * returns undefined.
 */
function refuseHead(response: HttpResponse, address: UpstreamAddress): UpstreamError | undefined {
  if (response.status !== 200) return refuseStatus(response, address);
  const fault = findHeaderFault(response, address);
  return fault === undefined ? undefined : new UpstreamError('malformed', fault);
}

function findHeaderFault({ headers }: HttpResponse, address: UpstreamAddress): string | undefined {
  const type = String(headers['content-type'] ?? '');
  if (!/^application\/json\b/i.test(type)) {
    return `Content-Type: got "${address.show(type)}", expected application/json`;
  }
  const encoding = String(headers['content-encoding'] ?? 'identity');
  if (encoding === 'identity') return undefined;
  return `Content-Encoding: got "${address.show(encoding)}", asked for none`;
}

function refuseStatus(response: HttpResponse, address: UpstreamAddress): UpstreamError {
  const { status } = response;
  const text = address.show(response.body.toString());
  const message = text === '' ? `status ${status}` : `status ${status}: ${text}`;
  const retryAfterMs = status === 429 ? readRetryAfter(response) : undefined;
  const refusal = readOwnRefusal(response, address);
  return new UpstreamError(kindOf(status), message, { retryAfterMs, status, refusal });
}

function kindOf(status: number): UpstreamErrorKind {
  if (status === 429) return 'rate_limited';
  return status >= 500 ? 'server' : 'refused';
}

/**
 * Returns Retry-After in milliseconds. A Retry-After with a date is ignored, because a date depends
 * on two clocks.
 */
function readRetryAfter({ headers }: HttpResponse): number | undefined {
  const text = String(headers['retry-after'] ?? '');
  return /^\d{1,6}$/.test(text) ? Number(text) * 1000 : undefined;
}
