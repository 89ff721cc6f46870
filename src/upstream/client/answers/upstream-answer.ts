/** Reads a response of the upstream: what counts as an answer, and what each refusal means. */

import { isUtf8 } from 'node:buffer';
import type { UpstreamAddress } from '../upstream-address.ts';
import { UpstreamError, type UpstreamErrorKind } from '../upstream-error.ts';
import type { HttpResponse } from '../upstream-http.ts';
import { JsonScan } from './json-scan.ts';
import type { SlicedWork } from './sliced-work.ts';
import { NestingError, parseUpstreamJson } from './upstream-json.ts';

/** Statuses of a proxy whose server does not answer. */
const GATEWAY_STATUSES: readonly number[] = [502, 503, 504];
const BYTE_ORDER_MARK = Buffer.from('\ufeff');
/** What is looked through at a time, well within a millisecond. */
const STEP_BYTES = 64 << 10;

/** An answer that has been checked: it is JSON, and repeats no key. */
export class UpstreamAnswer {
  /** As the upstream wrote them, without a byte order mark. */
  readonly bytes: Buffer;
  /** Of the list that it is; undefined if it is something else. */
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

  /** Parsed when somebody needs it: an answer that is only passed on never is. */
  get json(): unknown {
    this.#json ??= { value: JSON.parse(this.text) };
    return this.#json.value;
  }
}

/** Whether the response shows that the upstream itself reads requests. */
export function showsLife({ status }: HttpResponse): boolean {
  return !GATEWAY_STATUSES.includes(status);
}

/** Texts of the response are in an error only as the address shows them. */
export function readUpstreamAnswer(
  response: HttpResponse,
  address: UpstreamAddress,
): UpstreamAnswer | UpstreamError {
  const { body } = response;
  const refusal = refuseHead(response, address);
  if (refusal !== undefined) return refusal;
  if (address.isRepeatedIn(body)) return REPEATS_KEY;
  try {
    const bytes = requireText(body);
    const value = parseUpstreamJson(bytes.toString());
    return new UpstreamAnswer(bytes, Array.isArray(value) ? value.length : undefined, { value });
  } catch (error) {
    return describeFault(body, error);
  }
}

/** The same for an answer that is only passed on: it is checked in slices, and not parsed. */
export async function checkUpstreamAnswer(
  response: HttpResponse,
  address: UpstreamAddress,
  work: SlicedWork,
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
      isRepeating ||= address.isRepeatedIn(bytes, from, from + STEP_BYTES);
      from += STEP_BYTES;
      return isRepeating || scan.advance(STEP_BYTES);
    };
    // Most answers are short, and do not wait for a long one.
    if (bytes.length > STEP_BYTES || !look()) await work.run(look);
    return isRepeating ? REPEATS_KEY : new UpstreamAnswer(bytes, scan.rows);
  } catch (error) {
    return describeFault(body, error);
  }
}

const REPEATS_KEY = new UpstreamError('malformed', 'the response repeats the key of the request');

/** Throws if it is not UTF-8. */
function requireText(body: Buffer): Buffer {
  if (!isUtf8(body)) throw new SyntaxError('it is not UTF-8');
  const isMarked = body.subarray(0, BYTE_ORDER_MARK.length).equals(BYTE_ORDER_MARK);
  return isMarked ? body.subarray(BYTE_ORDER_MARK.length) : body;
}

/** Without the cause, which quotes the response. */
function describeFault({ length }: Buffer, error: unknown): UpstreamError {
  const fault = error instanceof NestingError ? error.message : 'not JSON';
  return new UpstreamError('malformed', `the response of ${length} bytes is ${fault}`);
}

/** Why its body is no answer; undefined if it may be one. */
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
  return new UpstreamError(kindOf(status), message, { retryAfterMs, status });
}

function kindOf(status: number): UpstreamErrorKind {
  if (status === 429) return 'rate_limited';
  return status >= 500 ? 'server' : 'refused';
}

/** In seconds; the form with a date depends on two clocks, and is left out. */
function readRetryAfter({ headers }: HttpResponse): number | undefined {
  const text = String(headers['retry-after'] ?? '');
  return /^\d{1,6}$/.test(text) ? Number(text) * 1000 : undefined;
}
