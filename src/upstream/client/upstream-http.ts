/**
 * Sends a request and reads its response, with limits on the time, the size and the number of
 * connections.
 */

import type { Dispatcher, Pool } from 'undici';
import type { Clock } from './limits/clock.ts';
import type { Arrival } from './limits/window-usage.ts';
import type { UpstreamAddress } from './upstream-address.ts';
import { UpstreamError } from './upstream-error.ts';

/**
 * The deadline for connecting. It is shorter than the deadline of the request, so that a failure to
 * connect has a separate error.
 */
const CONNECT_MS_MAX = 5_000;
/** The time for which an idle connection stays open. */
const KEEP_ALIVE_MS = 30_000;

/** The codes of failures that happen before anything is sent. */
const UNSENT_CODES: ReadonlySet<unknown> = new Set([
  'EAI_AGAIN',
  'ECONNREFUSED',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENOTFOUND',
  'UND_ERR_CONNECT_TIMEOUT',
]);

export interface HttpOptions {
  readonly address: UpstreamAddress;
  /** The headers of each request, such as the header with a vendor's key. */
  readonly headers: Readonly<Record<string, string>>;
  readonly clock: Clock;
  /** The deadline of the whole request, including its response. */
  readonly deadlineMs: number;
  readonly bodyBytesMax: number;
  readonly connections: number;
}

export interface HttpResponse {
  readonly status: number;
  readonly headers: Dispatcher.ResponseData['headers'];
  readonly body: Buffer;
}

/** The result of a request, and whether the upstream counted the request. */
export interface PostOutcome {
  readonly arrival: Arrival;
  readonly result: HttpResponse | UpstreamError;
}

export async function openUpstreamHttp(options: HttpOptions): Promise<UpstreamHttp> {
  const { Pool } = await import('undici');
  const pool = new Pool(options.address.origin, {
    connections: options.connections,
    connect: { timeout: Math.min(CONNECT_MS_MAX, options.deadlineMs) },
    keepAliveTimeout: KEEP_ALIVE_MS,
    // The deadline of the request covers the headers and the body.
    headersTimeout: 0,
    bodyTimeout: 0,
  });
  return new UpstreamHttp(pool, options);
}

export class UpstreamHttp {
  readonly #pool: Pool;
  readonly #options: HttpOptions;

  constructor(pool: Pool, options: HttpOptions) {
    this.#pool = pool;
    this.#options = options;
  }

  /** Never rejects. */
  async post(body: string): Promise<PostOutcome> {
    const { clock, deadlineMs } = this.#options;
    const deadline = new AbortController();
    const cancelTimer = clock.setTimer(deadlineMs, () => deadline.abort());
    let isAnswered = false;
    try {
      const response = await this.#send(body, deadline.signal);
      isAnswered = true;
      const received = await this.#readBody(response.body);
      const { statusCode: status, headers } = response;
      return { arrival: 'arrived', result: { status, headers, body: received } };
    } catch (error) {
      const late = deadline.signal.aborted;
      const result = late ? this.#describeLateness() : this.#describeFailure(error as Error);
      return { arrival: isAnswered ? 'arrived' : arrivalOf(error as Error, late), result };
    } finally {
      cancelTimer();
    }
  }

  #send(body: string, signal: AbortSignal): Promise<Dispatcher.ResponseData> {
    const { address, headers } = this.#options;
    return this.#pool.request({
      method: 'POST',
      path: address.infoPath,
      headers: { ...headers, 'content-type': 'application/json', accept: 'application/json' },
      body,
      signal,
    });
  }

  async #readBody(body: Dispatcher.ResponseData['body']): Promise<Buffer> {
    const { bodyBytesMax } = this.#options;
    const chunks: Buffer[] = [];
    let length = 0;
    // If the loop ends early, the stream is destroyed, and the connection with it.
    for await (const chunk of body) {
      length += chunk.length;
      if (length > bodyBytesMax) {
        throw new UpstreamError('malformed', `the response is over ${bodyBytesMax} bytes`);
      }
      chunks.push(chunk);
    }
    return Buffer.concat(chunks);
  }

  #describeLateness(): UpstreamError {
    return new UpstreamError('timeout', `no response within ${this.#options.deadlineMs} ms`);
  }

  #describeFailure(error: Error): UpstreamError {
    if (error instanceof UpstreamError) return error;
    const message = error.message || String((error as NodeJS.ErrnoException).code ?? error.name);
    // The error has no cause, because the cause may quote the address or the upstream's response.
    const isSent = arrivalOf(error, false) !== 'unsent';
    const { address } = this.#options;
    const shown = isOfClient(error) ? address.redact(message) : address.show(message);
    return new UpstreamError('network', shown, { isSent });
  }

  /** Ends the connections. Requests in flight fail. */
  async close(): Promise<void> {
    await this.#pool.destroy();
  }
}

/**
 * Returns true if the HTTP client wrote the message. Then the message quotes nothing except the
 * upstream's origin.
 */
function isOfClient({ code }: NodeJS.ErrnoException): boolean {
  return code?.startsWith('UND_ERR_') === true;
}

/** Returns whether the upstream counted a request that got no response, or may still count it. */
function arrivalOf(error: Error, isLate: boolean): Arrival {
  if (isLate) return 'unknown';
  return UNSENT_CODES.has((error as NodeJS.ErrnoException).code) ? 'unsent' : 'arrived';
}
