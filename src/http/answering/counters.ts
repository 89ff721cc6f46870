/**
 * The counters that the transports change, and the load that the transports read. The folder
 * service/ implements both.
 */

/**
 * Why a connection leaves the fast lane for Node's HTTP server:
 *
 *   syntax     the head is HTTP that the lane does not read, or not HTTP at all
 *   chunked    the body is chunked, or trailers are announced
 *   expect     the client waits for a 100 Continue before it sends the body
 *   upgrade    the client offers another protocol, such as a WebSocket
 *   page       a page, the dashboard or /health
 *   too_large  the head or the body is over its limit
 */
export type LaneExit = 'syntax' | 'chunked' | 'expect' | 'upgrade' | 'page' | 'too_large';

export interface RequestCounters {
  /** Counts requests of one type that got the same status and took the same time. */
  countRequests(type: string, status: number, seconds: number, count: number): void;
  /** Counts a request that failed because of a bug in perpinfo. */
  countFailure(): void;
}

export interface ConnectionCounters {
  countOpenConnections(change: 1 | -1): void;
  countRefusedConnection(): void;
}

/** The kinds of work that use a turn of the event loop, so that other requests wait. */
export type Work = 'blocks' | 'requests' | 'many_accounts' | 'past' | 'push' | 'snapshot';

export interface WorkCounters {
  /** Counts the time of one piece of work that ran without a pause. */
  countWork(work: Work, seconds: number): void;
}

export interface LaneCounters extends RequestCounters, WorkCounters {
  countLaneExit(reason: LaneExit): void;
}

export interface PushCounters extends RequestCounters, WorkCounters {
  countPushConnections(change: 1 | -1): void;
  countSubscriptions(change: 1 | -1): void;
  countStates(count: number): void;
  countCutOff(): void;
}

export interface Counters extends ConnectionCounters, LaneCounters, PushCounters {}

/** How long requests wait for the event loop. */
export interface Load {
  readonly isOverloaded: boolean;
  readonly delayMs: number;
}
