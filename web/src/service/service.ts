/** Asks the service over HTTP. Failures are thrown as a `Refusal` with the service's message. */

import type { Answer, Health, Question } from '../figures/answers.ts';

const TIMEOUT_MS = 8_000;
const HEALTH_TIMEOUT_MS = 3_000;

/**
 * The reason why there is no answer: the service refused the question, or could not be reached
 * (status 0).
 */
export class Refusal extends Error {
  readonly status: number;
  readonly code: string;
  readonly retryAfterMs: number;

  constructor(message: string, status = 0, code = 'unreachable', retryAfterMs = 0) {
    super(message);
    this.name = 'Refusal';
    this.status = status;
    this.code = code;
    this.retryAfterMs = retryAfterMs;
  }
}

async function fetchText(
  path: string,
  options: RequestInit,
  timeoutMs = TIMEOUT_MS,
): Promise<[Response, string]> {
  try {
    const response = await fetch(path, { ...options, signal: AbortSignal.timeout(timeoutMs) });
    return [response, await response.text()];
  } catch (error) {
    const isSlow = error instanceof DOMException && error.name === 'TimeoutError';
    const reason = isSlow ? `did not answer within ${timeoutMs / 1000} s` : 'cannot be reached';
    throw new Refusal(`the service ${reason}`);
  }
}

function parseRefusal(response: Response, text: string): Refusal {
  const retryAfterMs = Number(response.headers.get('Retry-After') ?? 0) * 1000;
  try {
    const { error, message } = JSON.parse(text) as { error: string; message: string };
    return new Refusal(message, response.status, error, retryAfterMs);
  } catch {
    const message = `the service answered ${response.status} ${response.statusText}`;
    return new Refusal(message, response.status, 'unknown', retryAfterMs);
  }
}

/**
 * Returns the base path of a key. It ends with a slash, because clients that resolve "info" against
 * it would otherwise drop the key.
 */
export function basePath(key: string): string {
  return `/${encodeURIComponent(key)}/`;
}

/** Returns the path of the requests that ask questions with a key. */
export function infoPath(key: string): string {
  return `${basePath(key)}info`;
}

export async function ask(key: string, question: Question): Promise<Answer> {
  const [response, text] = await fetchText(infoPath(key), {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify(question),
  });
  if (!response.ok) throw parseRefusal(response, text);
  const { headers } = response;
  const accountTime = readNumber(headers.get('Account-Time'));
  return {
    value: JSON.parse(text),
    height: readNumber(headers.get('Ledger-Height')),
    time: readNumber(headers.get('Ledger-Time')) ?? accountTime ?? 0,
    accountTime,
  };
}

function readNumber(header: string | null): number | undefined {
  return header === null ? undefined : Number(header);
}

/** Returns the body of /health, which describes the service even if the HTTP status is an error. */
export async function askHealth(): Promise<Health> {
  const [response, text] = await fetchText('/health', { cache: 'no-store' }, HEALTH_TIMEOUT_MS);
  try {
    const health = JSON.parse(text) as Health;
    if (typeof health.height === 'number') return health;
  } catch {
    // The text is not the JSON of the service, for example because a proxy answered.
  }
  throw parseRefusal(response, text);
}
