/**
 * The limits of requests and push connections. They are constants, because no operator could choose
 * better values.
 */

/** The longest valid question, which asks about 1,000 accounts, is shorter than this limit. */
const BODY_BYTES_MAX = 65_536;
/**
 * The limit of the request line and all headers together. Clients and proxies send less. Node's
 * default is the same.
 */
const HEADER_BYTES_MAX = 16_384;
/**
 * The deadline for the headers. A client sends all headers at once. Only an attack, or a broken
 * network, takes longer.
 */
const HEADER_TIMEOUT_MS = 10_000;
/**
 * The deadline for a whole request, or for a message on a push connection. The longest request
 * takes less time on any usable network.
 */
const REQUEST_TIMEOUT_MS = 15_000;
/**
 * A push client that reads has fewer unread bytes. The longest answers are also below this limit.
 */
const PUSH_BACKLOG_BYTES_MAX = 4_194_304;
/** A working push client reads its data, and answers a ping, in a much shorter time. */
const PUSH_STALL_TIMEOUT_MS = 20_000;
/**
 * A page subscribes to a few accounts. One connection may use the share of all connections of its
 * key.
 */
const PUSH_SUBSCRIPTIONS_PER_CONNECTION = 10;
/**
 * Every answer takes less time. With a feed, a service still stops within the 30 s that
 * orchestrators wait.
 */
const STOP_TIMEOUT_MS = 10_000;

export interface HttpLimits {
  /** Maximum length of the body of a request (413). */
  readonly bodyBytesMax: number;
  /** Maximum length of the request line and all headers together (431). */
  readonly headerBytesMax: number;
  /** Deadline for the headers of a request (408). */
  readonly headerTimeout: number;
  /** Deadline for a whole request (408), or for a message on a push connection. */
  readonly requestTimeout: number;
  /** A push connection with more unread bytes is closed. */
  readonly pushBacklogMax: number;
  /** How long a push client may leave data unread, or a ping unanswered. */
  readonly pushStallTimeout: number;
  /** The number of subscriptions of a key for each connection that the key may have. */
  readonly pushSubscriptionsPerConnection: number;
  /**
   * How long requests in flight may take to finish when the service stops. A feed has the same time
   * to end.
   */
  readonly stopTimeout: number;
}

export const HTTP_LIMITS: HttpLimits = {
  bodyBytesMax: BODY_BYTES_MAX,
  headerBytesMax: HEADER_BYTES_MAX,
  headerTimeout: HEADER_TIMEOUT_MS,
  requestTimeout: REQUEST_TIMEOUT_MS,
  pushBacklogMax: PUSH_BACKLOG_BYTES_MAX,
  pushStallTimeout: PUSH_STALL_TIMEOUT_MS,
  pushSubscriptionsPerConnection: PUSH_SUBSCRIPTIONS_PER_CONNECTION,
  stopTimeout: STOP_TIMEOUT_MS,
};
