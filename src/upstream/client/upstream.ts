/**
 * The client of the upstream. It sends questions within the budget. Identical questions in flight
 * share one request. If the upstream does not answer, the client sends only probes until the
 * upstream answers again.
 */

import type { QuestionBody } from '../../info/question.ts';
import { PUBLIC_WEIGHTS, type UpstreamWeights } from '../../info/upstream-weights.ts';
import { SharedRead } from './answers/shared-read.ts';
import {
  checkUpstreamAnswer,
  isUpstreamAlive,
  readUpstreamAnswer,
  type UpstreamAnswer,
} from './answers/upstream-answer.ts';
import { WorkQueue } from './answers/work-queue.ts';
import { CircuitBreaker, PROBE_MAX_MS } from './limits/circuit-breaker.ts';
import { type Clock, SYSTEM_CLOCK } from './limits/clock.ts';
import { isForClient, type Priority } from './limits/priority.ts';
import type { SpentLog } from './limits/spent-file.ts';
import { type Ticket, UpstreamBudget, type WeightRequest } from './limits/upstream-budget.ts';
import type { UpstreamAddress } from './upstream-address.ts';
import { UpstreamError } from './upstream-error.ts';
import { openUpstreamHttp, type PostOutcome, type UpstreamHttp } from './upstream-http.ts';
import type { WaitingKeys } from './waiting-keys.ts';

/** A small question that every server answers. */
const PROBE = { type: 'clearinghouseState', user: `0x${'0'.repeat(40)}` } as const;
/**
 * The maximum number of requests for one question. A second request is needed if the upstream
 * closes an idle connection just when we send a request on it.
 */
const ATTEMPTS_MAX = 2;

export interface AskOptions {
  readonly priority: Priority;
  /**
   * The maximum time that the question may wait to be sent. After this time, the question is
   * rejected as `busy` or `down`.
   */
  readonly waitMsMax?: number;
  /**
   * Stops waiting for the answer when the signal aborts. A request that was sent is not aborted.
   */
  readonly signal?: AbortSignal;
  /** The keys that wait for the answer; undefined if no key waits. */
  readonly waitingKeys?: WaitingKeys;
}

export interface UpstreamLog {
  info(message: string): void;
  warn(message: string): void;
  /** As `warn`, but the same line is left out for a while. Without this function, every line is logged. */
  warnOnce?(message: string): void;
}

export interface UpstreamOptions {
  readonly address: UpstreamAddress;
  /** The weight per minute; Infinity for no limit. */
  readonly budget: number;
  readonly log: UpstreamLog;
  /** The weight of each question. */
  readonly weights?: UpstreamWeights;
  /** The part of the budget that is reserved for forwarded questions, from 0 to 1. */
  readonly forwardShare?: number;
  /** The headers of each request, such as the header with a vendor's key. */
  readonly headers?: Readonly<Record<string, string>>;
  /** The weight that earlier processes have spent. */
  readonly spent?: SpentLog | undefined;
  /** The deadline of a whole request, in milliseconds. */
  readonly deadlineMs?: number;
  readonly bodyBytesMax?: number;
  /** The maximum number of connections, and so also of requests in flight. */
  readonly connections?: number;
  readonly clock?: Clock;
  readonly random?: () => number;
}

const DEFAULTS = {
  weights: PUBLIC_WEIGHTS,
  forwardShare: 0,
  headers: {},
  spent: undefined,
  deadlineMs: 10_000,
  bodyBytesMax: 8 << 20,
  connections: 16,
  clock: SYSTEM_CLOCK,
  random: Math.random,
} as const satisfies Partial<UpstreamOptions>;

export interface UpstreamHealth {
  readonly isHealthy: boolean;
  /** The reason why the upstream is not healthy, or why we ask it more slowly. */
  readonly reason?: string;
}

export async function openUpstream(options: UpstreamOptions): Promise<Upstream> {
  return new Upstream(await openUpstreamHttp({ ...DEFAULTS, ...options }), options);
}

/** The part of `UpstreamHttp` that a client uses. */
type UpstreamTransport = Pick<UpstreamHttp, 'post' | 'close'>;

export class Upstream {
  readonly budget: UpstreamBudget;
  readonly #http: UpstreamTransport;
  readonly #options: Required<UpstreamOptions>;
  readonly #breaker: CircuitBreaker;
  /** The questions that wait or are in flight, by their text. */
  readonly #reads = new Map<string, SharedRead>();
  /** Runs the checks of long answers that are passed on without parsing. */
  readonly #checks = new WorkQueue();
  #isClosed = false;

  constructor(http: UpstreamTransport, options: UpstreamOptions) {
    const complete = { ...DEFAULTS, ...options };
    const {
      budget: limit,
      forwardShare,
      connections: inFlightMax,
      clock,
      random,
      spent,
    } = complete;
    this.#http = http;
    this.#options = complete;
    this.budget = new UpstreamBudget({ limit, forwardShare, inFlightMax, clock, spent });
    this.#breaker = new CircuitBreaker({
      clock,
      random,
      probe: async () => void (await this.#read(PROBE, { priority: 'probe' })),
      opened: (reason) => this.#stopAsking(reason),
      probeFailed: (reason) => this.#rejectClients(reason),
      closed: () => this.#askAgain(),
    });
  }

  /**
   * Returns the answer as a JSON value; rejects with an UpstreamError, or with the signal's reason.
   */
  async ask(question: QuestionBody, options: AskOptions): Promise<unknown> {
    return (await this.#read(question, options)).json;
  }

  /** Returns the answer as a JSON value, and as the text that the upstream sent. */
  askAnswer(question: QuestionBody, options: AskOptions): Promise<UpstreamAnswer> {
    return this.#read(question, options);
  }

  /**
   * Returns the answer as the bytes that the upstream sent, and its number of rows. The bytes are
   * checked to be valid JSON.
   */
  askBytes(question: QuestionBody, options: AskOptions): Promise<UpstreamAnswer> {
    return this.#read(question, options);
  }

  get weights(): UpstreamWeights {
    return this.#options.weights;
  }

  get health(): UpstreamHealth {
    const { isOpen, lastFailure } = this.#breaker;
    if (isOpen && lastFailure !== undefined) return { isHealthy: false, reason: lastFailure };
    const percent = Math.round(this.budget.factor * 100);
    if (percent === 100) return { isHealthy: true };
    return { isHealthy: true, reason: `status 429: asked at ${percent}% of the budget` };
  }

  async #read(question: QuestionBody, options: AskOptions): Promise<UpstreamAnswer> {
    options.signal?.throwIfAborted();
    const body = JSON.stringify(question);
    const shared = this.#reads.get(body);
    if (shared === undefined) return this.#ask(question.type, body, options);
    const answer = this.#join(shared, options);
    this.budget.promote(shared, options.priority);
    return answer;
  }

  #ask(type: string, body: string, options: AskOptions): Promise<UpstreamAnswer> {
    const weight = this.weights.maxOf(type);
    this.#refuseIfUseless(weight, options);
    const read = new SharedRead({ type, body, weight }, options.priority, {
      send: (ticket) => void this.#send(read, ticket),
      finished: () => this.#reads.delete(body),
    });
    this.#reads.set(body, read);
    const answer = this.#join(read, options);
    this.budget.request(read);
    return answer;
  }

  /** Throws if the question certainly cannot be sent in time. */
  #refuseIfUseless(weight: number, options: AskOptions): void {
    const { priority, waitMsMax } = options;
    if (this.#isClosed) throw new UpstreamError('closed', 'the follower stops');
    const { downReason } = this.#breaker;
    if (downReason !== undefined && isForClient(priority)) {
      throw describeDown(downReason);
    }
    if (waitMsMax === undefined) return;
    const request = weightRequestOf(weight, options);
    if (this.budget.waitMs(request) > waitMsMax) throw this.#describeWait(request);
  }

  #describeWait(request: WeightRequest): UpstreamError {
    const { isOpen, lastFailure } = this.#breaker;
    if (isOpen && lastFailure !== undefined) return describeDown(lastFailure);
    const retryAfterMs = this.budget.waitMs(request);
    return new UpstreamError('busy', describeSpent(this.budget, request), { retryAfterMs });
  }

  #join(read: SharedRead, options: AskOptions): Promise<UpstreamAnswer> {
    const { priority, waitMsMax, signal, waitingKeys } = options;
    waitingKeys?.whenJoined(() => this.budget.joined(read));
    return new Promise((resolve, reject) => {
      const leave = (error: Error) => {
        if (!read.remove(reader)) this.#withdraw(read);
        reader.reject(error);
      };
      const abort = () => leave(signal?.reason);
      const giveUp = () => {
        if (!read.isSent) leave(this.#describeWait(weightRequestOf(read.weight, options)));
      };
      signal?.addEventListener('abort', abort, { once: true });
      const cancelTimer =
        waitMsMax === undefined ? undefined : this.#options.clock.setTimer(waitMsMax, giveUp);
      const settle = <T>(settled: (value: T) => void) => {
        return (value: T) => {
          signal?.removeEventListener('abort', abort);
          cancelTimer?.();
          settled(value);
        };
      };
      const reader = { priority, waitingKeys, resolve: settle(resolve), reject: settle(reject) };
      read.add(reader);
    });
  }

  /** Withdraws a read because no caller waits for its answer any more. */
  #withdraw(read: SharedRead): void {
    if (this.budget.withdraw(read)) this.#reads.delete(read.question.body);
  }

  async #send(read: SharedRead, ticket: Ticket): Promise<void> {
    const outcome = await this.#http.post(read.question.body);
    if (outcome.arrival !== 'unsent') read.noteSent();
    const result = this.#judge(outcome, await this.#readAnswer(read, outcome), ticket);
    ticket.end(outcome.arrival, this.#chargeFor(read, outcome, result));
    if (this.#isWorthRetrying(read, outcome, result)) {
      read.isSent = false;
      this.budget.request(read);
    } else read.finish(result);
  }

  #readAnswer(
    { priority }: SharedRead,
    { result }: PostOutcome,
  ): Promise<UpstreamAnswer | UpstreamError> | UpstreamAnswer | UpstreamError {
    const { address } = this.#options;
    if (result instanceof UpstreamError) return result;
    return priority === 'forward'
      ? checkUpstreamAnswer(result, address, this.#checks)
      : readUpstreamAnswer(result, address);
  }

  /**
   * Reports the outcome to the circuit breaker and the budget. This must happen before the ticket
   * ends, because then other requests are sent.
   */
  #judge(
    { result }: PostOutcome,
    answer: UpstreamAnswer | UpstreamError,
    { sentMs }: Ticket,
  ): UpstreamAnswer | UpstreamError {
    if (this.#isClosed) return new UpstreamError('closed', 'the follower stops');
    if (result instanceof UpstreamError) {
      if (result.kind === 'malformed') this.#noteAnswer(sentMs);
      else this.#breaker.failed(result.message);
      return result;
    }
    if (isUpstreamAlive(result)) this.#noteAnswer(sentMs, answer);
    else this.#breaker.failed(`status ${result.status}`);
    return answer;
  }

  #noteAnswer(sentMs: number, answer?: UpstreamAnswer | UpstreamError): void {
    this.#breaker.succeeded();
    const isRefused = answer instanceof UpstreamError && answer.kind === 'rate_limited';
    if (!isRefused) this.budget.answered(sentMs);
    else if (this.budget.refused(sentMs, answer.retryAfterMs)) {
      const percent = Math.round(this.budget.factor * 100);
      this.#warn(`answers 429: asked at ${percent}% of the budget for now`);
    }
  }

  /**
   * Returns the weight that the upstream charged. Without an answer, returns the maximum that the
   * upstream may have charged.
   */
  #chargeFor(
    { question: { type }, weight }: SharedRead,
    exchange: PostOutcome,
    result: UpstreamAnswer | UpstreamError,
  ): number {
    if (exchange.result instanceof UpstreamError) return weight;
    if (!(result instanceof UpstreamError)) return this.weights.ofRows(type, result.rows);
    // A refusal has no rows, so only the base weight is charged.
    return exchange.result.status === 200 ? weight : this.weights.of(type);
  }

  #isWorthRetrying(
    read: SharedRead,
    { arrival }: PostOutcome,
    result: UpstreamAnswer | UpstreamError,
  ): boolean {
    const isCutOff = result instanceof UpstreamError && result.kind === 'network';
    if (!isCutOff || arrival !== 'arrived') return false;
    return read.hasReaders && read.attempts < ATTEMPTS_MAX && !this.#breaker.isOpen;
  }

  #stopAsking(reason: string): void {
    this.budget.hold();
    this.#warn(`does not answer (${reason}): only probed until it does`);
  }

  #rejectClients(reason: string): void {
    const error = describeDown(reason);
    for (const read of this.#reads.values()) {
      if (!read.isSent && !read.rejectClients(error)) this.#withdraw(read);
    }
  }

  #askAgain(): void {
    this.#options.log.info(`upstream ${this.#options.address.origin} answers again`);
    this.budget.release();
  }

  #warn(what: string): void {
    this.#options.log.warn(`upstream ${this.#options.address.origin} ${what}`);
  }

  /** Rejects waiting questions, and ends the requests in flight. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#breaker.stop();
    this.budget.close(new UpstreamError('closed', 'the follower stops'));
    await this.#http.close();
    this.#options.spent?.close();
  }
}

function weightRequestOf(weight: number, { priority, waitingKeys }: AskOptions): WeightRequest {
  return { weight, priority, keyIds: waitingKeys && [...waitingKeys.keyIds] };
}

/** Returns the error for questions that are rejected at once because an earlier request failed. */
function describeDown(reason: string): UpstreamError {
  const until = `it is tried again at most ${PROBE_MAX_MS} ms after each failure, until it answers`;
  return new UpstreamError('down', `not asked, since it failed before (${reason}): ${until}`);
}

function describeSpent(budget: UpstreamBudget, request: WeightRequest): string {
  const { limit, factor } = budget;
  const kind = request.priority === 'forward' ? 'the part for forwarded questions of ' : '';
  const part = budget.keyWaitMs(request) > 0 ? `this key's share of ${kind}` : kind;
  const slowed = factor < 1 ? `, slowed down to ${Math.round(factor * 100)}% by a 429,` : '';
  return `${part}the budget of ${limit} a minute${slowed} is spent`;
}
