/** The errors of questions to the upstream. */

import type { RequestErrorCode } from '../../info/request-error.ts';

export type UpstreamErrorKind =
  /** There was no connection, or the upstream closed it before the response was complete. */
  | 'network'
  /** The response was not complete before the deadline. */
  | 'timeout'
  /** The upstream answered with status 429. */
  | 'rate_limited'
  /**
   * The status was 500 or above. Some servers also answer 500 to a question about an unknown dex.
   */
  | 'server'
  /** The upstream answered with another status: see `isUnknownQuestion`. */
  | 'refused'
  /** The response is not valid JSON, or is over the size limit. */
  | 'malformed'
  /** The question was not sent, because the budget is spent. */
  | 'busy'
  /** The question was not sent, because the upstream did not answer earlier requests. */
  | 'down'
  /** The question was not sent, because the follower stops. */
  | 'closed';

/** A refusal of an upstream that is perpinfo itself, without secrets. */
export interface OwnRefusal {
  readonly code: RequestErrorCode;
  readonly message: string;
  readonly field?: string;
}

interface UpstreamErrorOptions extends ErrorOptions {
  readonly retryAfterMs?: number | undefined;
  readonly status?: number | undefined;
  readonly refusal?: OwnRefusal | undefined;
  /** The default depends on the kind. */
  readonly isSent?: boolean;
}

const UNSENT_KINDS: readonly UpstreamErrorKind[] = ['busy', 'down', 'closed'];

export class UpstreamError extends Error {
  readonly kind: UpstreamErrorKind;
  /** The time after which to ask again, in milliseconds; undefined if it is not known. */
  readonly retryAfterMs: number | undefined;
  /** The status of the response; undefined if there was no response. */
  readonly status: number | undefined;
  /** The parts of a refusal in our own form; undefined if the response has another form. */
  readonly refusal: OwnRefusal | undefined;
  /**
   * True if the question was sent to the upstream, or may have been sent: then the upstream has
   * probably charged for it.
   */
  readonly isSent: boolean;

  constructor(kind: UpstreamErrorKind, message: string, options: UpstreamErrorOptions = {}) {
    super(message, options);
    this.name = 'UpstreamError';
    this.kind = kind;
    this.retryAfterMs = options.retryAfterMs;
    this.status = options.status;
    this.refusal = options.refusal;
    this.isSent = options.isSent ?? !UNSENT_KINDS.includes(kind);
  }
}

/**
 * The statuses with which servers refuse a question that they do not know. A refusal with another
 * status may be temporary.
 */
const UNKNOWN_STATUSES: readonly unknown[] = [400, 404, 405, 422];

/** Returns true if the upstream seems not to know the question at all. */
export function isUnknownQuestion(error: unknown): error is UpstreamError {
  if (!(error instanceof UpstreamError) || error.kind !== 'refused') return false;
  return UNKNOWN_STATUSES.includes(error.status);
}
