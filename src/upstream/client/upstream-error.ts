/** Every way in which a question to the upstream can fail. */

export type UpstreamErrorKind =
  /** No connection, or the upstream closed it before the response was complete. */
  | 'network'
  /** No complete response before the deadline. */
  | 'timeout'
  /** Status 429. */
  | 'rate_limited'
  /** Status 500 or above. Some servers also answer 500 to a question about an unknown dex. */
  | 'server'
  /** Another status: see `isUnknownQuestion`. */
  | 'refused'
  /** The response is not JSON, is cut off, or is over the size limit. */
  | 'malformed'
  /** Not sent: the budget is spent. */
  | 'busy'
  /** Not sent: the upstream did not answer the earlier requests. */
  | 'down'
  /** Not sent: the follower stops. */
  | 'closed';

interface UpstreamErrorOptions extends ErrorOptions {
  readonly retryAfterMs?: number | undefined;
  readonly status?: number | undefined;
  /** The default depends on the kind. */
  readonly isSent?: boolean;
}

const UNSENT_KINDS: readonly UpstreamErrorKind[] = ['busy', 'down', 'closed'];

export class UpstreamError extends Error {
  readonly kind: UpstreamErrorKind;
  /** After how long to ask again; undefined if unknown. */
  readonly retryAfterMs: number | undefined;
  /** The status of the response; undefined if there was no response. */
  readonly status: number | undefined;
  /**
   * The question was sent to the upstream, or may have been: the upstream has probably charged for
   * it.
   */
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

/**
 * Statuses with which servers refuse a question that they do not know. Any other refusal may be
 * temporary.
 */
const UNKNOWN_STATUSES: readonly unknown[] = [400, 404, 405, 422];

/** True if the upstream seems not to know the question at all. */
export function isUnknownQuestion(error: unknown): error is UpstreamError {
  if (!(error instanceof UpstreamError) || error.kind !== 'refused') return false;
  return UNKNOWN_STATUSES.includes(error.status);
}
