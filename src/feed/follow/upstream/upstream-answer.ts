/** Reads a response of the upstream: what counts as an answer, and what each refusal means. */

import { UpstreamError, type UpstreamErrorKind } from './upstream-error.ts';
import type { HttpResponse } from './upstream-http.ts';
import { NestingError, parseUpstreamJson } from './upstream-json.ts';

export interface UpstreamAnswer {
  /** As the upstream wrote it. */
  readonly text: string;
  readonly json: unknown;
}

/** How much of a refusal's text is shown. */
const SHOWN_LENGTH_MAX = 200;

/** Statuses of a proxy whose server does not answer. */
const GATEWAY_STATUSES: readonly number[] = [502, 503, 504];

const DECODER = new TextDecoder('utf-8', { fatal: true });

/** Whether the response shows that the upstream itself reads requests. */
export function showsLife({ status }: HttpResponse): boolean {
  return !GATEWAY_STATUSES.includes(status);
}

/** `redact` removes what is secret: from each text before it is cut, since half a key is a secret too. */
export function readUpstreamAnswer(
  response: HttpResponse,
  redact: (text: string) => string,
): UpstreamAnswer | UpstreamError {
  const { status } = response;
  if (status !== 200) return refuseStatus(response, redact);
  const fault = findHeaderFault(response, redact);
  if (fault !== undefined) return new UpstreamError('malformed', fault);
  try {
    const text = DECODER.decode(response.body);
    return { text, json: parseUpstreamJson(text) };
  } catch (cause) {
    const fault = cause instanceof NestingError ? cause.message : 'not JSON';
    const message = `the response of ${response.body.length} bytes is ${fault}`;
    return new UpstreamError('malformed', message, { cause });
  }
}

function findHeaderFault(
  { headers }: HttpResponse,
  redact: (text: string) => string,
): string | undefined {
  const type = String(headers['content-type'] ?? '');
  if (!/^application\/json\b/i.test(type)) {
    const shown = redact(type).slice(0, SHOWN_LENGTH_MAX);
    return `Content-Type: got "${shown}", expected application/json`;
  }
  const encoding = String(headers['content-encoding'] ?? 'identity');
  if (encoding === 'identity') return undefined;
  const shown = redact(encoding).slice(0, SHOWN_LENGTH_MAX);
  return `Content-Encoding: got "${shown}", asked for none`;
}

function refuseStatus(response: HttpResponse, redact: (text: string) => string): UpstreamError {
  const { status } = response;
  const text = showText(redact(response.body.toString()));
  const message = text === '' ? `status ${status}` : `status ${status}: ${text}`;
  const retryAfterMs = status === 429 ? readRetryAfter(response) : undefined;
  return new UpstreamError(kindOf(status), message, { retryAfterMs, status });
}

function kindOf(status: number): UpstreamErrorKind {
  if (status === 429) return 'rate_limited';
  return status >= 500 ? 'server' : 'refused';
}

/** The start of a text on one line. */
function showText(text: string): string {
  return text
    .slice(0, SHOWN_LENGTH_MAX)
    .replaceAll(/[\p{Cc}\s]+/gu, ' ')
    .trim();
}

/** In seconds; the form with a date depends on two clocks, and is left out. */
function readRetryAfter({ headers }: HttpResponse): number | undefined {
  const text = String(headers['retry-after'] ?? '');
  return /^\d{1,6}$/.test(text) ? Number(text) * 1000 : undefined;
}
