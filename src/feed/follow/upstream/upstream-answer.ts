/** Reads a response of the upstream: what counts as an answer, and what each refusal means. */

import type { UpstreamAddress } from './upstream-address.ts';
import { UpstreamError, type UpstreamErrorKind } from './upstream-error.ts';
import type { HttpResponse } from './upstream-http.ts';
import { NestingError, parseUpstreamJson } from './upstream-json.ts';

export interface UpstreamAnswer {
  /** As the upstream wrote it. */
  readonly text: string;
  readonly json: unknown;
}

/** Statuses of a proxy whose server does not answer. */
const GATEWAY_STATUSES: readonly number[] = [502, 503, 504];

const DECODER = new TextDecoder('utf-8', { fatal: true });

/** Whether the response shows that the upstream itself reads requests. */
export function showsLife({ status }: HttpResponse): boolean {
  return !GATEWAY_STATUSES.includes(status);
}

/** Texts of the response are in an error only as the address shows them. */
export function readUpstreamAnswer(
  response: HttpResponse,
  address: UpstreamAddress,
): UpstreamAnswer | UpstreamError {
  const { status, body } = response;
  if (status !== 200) return refuseStatus(response, address);
  const fault = findHeaderFault(response, address);
  if (fault !== undefined) return new UpstreamError('malformed', fault);
  if (address.isRepeatedIn(body)) {
    return new UpstreamError('malformed', 'the response repeats the key of the request');
  }
  try {
    const text = DECODER.decode(body);
    return { text, json: parseUpstreamJson(text) };
  } catch (error) {
    // Without the cause, which quotes the response.
    const fault = error instanceof NestingError ? error.message : 'not JSON';
    return new UpstreamError('malformed', `the response of ${body.length} bytes is ${fault}`);
  }
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
