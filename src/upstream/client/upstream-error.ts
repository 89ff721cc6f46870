/** Every way in which a question to the upstream can fail. */

export type UpstreamErrorKind =
  /** No connection, or the upstream closed it before the response was complete. */
  | 'network'
  /** No complete response before the deadline. */
  | 'timeout'
  /** Status 429. */
  | 'rate_limited'
  /** Status 500 or above; 500 is also how some servers answer for an unknown dex. */
  | 'server'
  /** Another status: see `isUnknownQuestion`. */
  | 'refused'
  /** The response is not JSON, cut off, or over the size limit. */
  | 'malformed'
  /** Not sent: the budget is spent. */
  | 'busy'
  /** Not sent: the upstream did not answer the requests before. */
  | 'down'
  /** Not sent: the follower stops. */
  | 'closed';

interface UpstreamErrorOptions extends ErrorOptions {
  readonly retryAfterMs?: number | undefined;
  readonly status?: number | undefined;
  /** By default, as its kind says. */
  readonly isSent?: boolean;
}

const UNSENT_KINDS: readonly UpstreamErrorKind[] = ['busy', 'down', 'closed'];

export class UpstreamError extends Error {
  readonly kind: UpstreamErrorKind;
  /** After how long to ask again; undefined if unknown. */
  readonly retryAfterMs: number | undefined;
  /** Of the response; undefined if there was none. */
  readonly status: number | undefined;
  /** The upstream was sent the question, or may have been: it has probably counted it. */
  readonly isSent: boolean;

  constructor(kind: UpstreamErrorKind, message: string, options: UpstreamErrorOptions = {}) {
    super(message, options);
    this.name = 'UpstreamError';
    this.kind = kind;
    this.retryAfterMs = options.retryAfterMs;
    this.status = options.status;
    this.isSent = options.isSent ?? !UNSENT_KINDS.includes(kind);
  }
}

/** What servers answer to a question that they do not know: any other refusal may pass. */
const UNKNOWN_STATUSES: readonly unknown[] = [400, 404, 405, 422];

/** True if the upstream seems not to know the question at all. */
export function isUnknownQuestion(error: unknown): error is UpstreamError {
  if (!(error instanceof UpstreamError) || error.kind !== 'refused') return false;
  return UNKNOWN_STATUSES.includes(error.status);
}
