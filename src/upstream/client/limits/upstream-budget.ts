/**
 * The budget at the upstream: decides which request is sent next, and when. In every window of a
 * minute, the spent weight is at most the limit (see window-usage.ts). More important requests are
 * sent first. Less important requests leave a part of the limit free, so that clients rarely wait.
 * Keys share the budget (see key-shares.ts).
 */

import { UpstreamError } from '../upstream-error.ts';
import type { Clock } from './clock.ts';
import { FairQueue, type Keyed } from './fair-queue.ts';
import { KeyShares, type Shared, type Turn } from './key-shares.ts';
import { isHigher, PRIORITIES, type Priority, SHARES } from './priority.ts';
import { RateThrottle } from './rate-throttle.ts';
import type { SpentLog } from './spent-file.ts';
import { type Arrival, WINDOW_MS, WindowUsage } from './window-usage.ts';

/** The maximum number of waiting requests of one priority. */
const QUEUE_MAX = 10_000;
/** The maximum number of waiting requests of one priority and one key. */
const QUEUE_OF_KEY_MAX = 500;
/**
 * The time over which the requests of the sweep are spread evenly. It is slightly longer than the
 * window, because requests take time.
 */
const SWEEP_PERIOD_MS = 1.05 * WINDOW_MS;
/** The maximum time that the sweep may be ahead of this even pace. */
const SWEEP_BURST_MS = 1_000;
/** The interval at which a lowered limit is checked, because it rises again without an event. */
const RECOVERY_CHECK_MS = 1_000;
const NEVER_MS = Number.POSITIVE_INFINITY;

export interface BudgetOptions {
  /** The weight per minute; Infinity for no limit. */
  readonly limit: number;
  /** The part of the limit that is reserved for forwarded questions, from 0 to 1. */
  readonly forwardShare: number;
  /** The maximum number of requests in flight. */
  readonly inFlightMax: number;
  readonly clock: Clock;
  /** The weight that earlier processes have spent; undefined if no weight was spent before. */
  readonly spent?: SpentLog | undefined;
}

/** The permission to send one request. */
export interface Ticket {
  readonly sentMs: number;
  /**
   * The caller must call this once, when the request has ended. `charged` is the weight that the
   * upstream charged for it.
   */
  end(arrival: Arrival, charged: number): void;
}

/** The weight that a request needs, and its priority and keys. */
export interface WeightRequest extends Keyed {
  readonly priority: Priority;
  /** The maximum weight that the request can cost. */
  readonly weight: number;
}

/** A request that waits until it may be sent. */
export interface WaitingRequest extends WeightRequest {
  priority: Priority;
  /** Called when the request may be sent. */
  granted(ticket: Ticket): void;
  /** Called if the request can no longer be sent. */
  failed(error: UpstreamError): void;
}

/**
 * A part of the budget. There are two parts: one for forwarded questions, and one for all other
 * requests. Neither part uses the weight or the connections of the other part.
 */
interface BudgetPart {
  readonly limit: number;
  readonly places: number;
  readonly usage: WindowUsage;
  readonly keys: KeyShares;
  inFlight: number;
}

function createPart(limit: number, places: number): BudgetPart {
  return { limit, places, usage: new WindowUsage(), keys: new KeyShares(), inFlight: 0 };
}

function createParts({
  limit,
  forwardShare,
  inFlightMax,
}: BudgetOptions): [BudgetPart, BudgetPart] {
  const forwarded = forwardShare === 0 ? 0 : Math.floor(limit * forwardShare);
  const places = forwardShare === 0 ? 0 : Math.ceil(inFlightMax / 4);
  const rest = limit === Number.POSITIVE_INFINITY ? limit : limit - forwarded;
  return [createPart(rest, inFlightMax - places), createPart(forwarded, places)];
}

export class UpstreamBudget {
  readonly limit: number;
  readonly #clock: Clock;
  readonly #follow: BudgetPart;
  readonly #forward: BudgetPart;
  readonly #spent: SpentLog | undefined;
  readonly #throttle = new RateThrottle();
  readonly #queues = new Map<Priority, FairQueue<WaitingRequest>>(
    PRIORITIES.map((priority) => [priority, new FairQueue()]),
  );
  /** The time at which the sweep may send its next request, at its even pace. */
  #sweepAtMs = Number.NEGATIVE_INFINITY;
  #isHeld = false;
  #closedBy: UpstreamError | undefined;
  #cancelTimer: (() => void) | undefined;

  constructor(options: BudgetOptions) {
    this.limit = options.limit;
    this.#clock = options.clock;
    [this.#follow, this.#forward] = createParts(options);
    this.#spent = options.spent;
    this.#restoreSpent();
  }

  #restoreSpent(): void {
    const nowMs = this.#clock.nowMs();
    for (const { agoMs, own, forwarded } of this.#spent?.load() ?? []) {
      this.#follow.usage.restore(own, nowMs - agoMs);
      this.#forward.usage.restore(forwarded, nowMs - agoMs);
    }
  }

  /** The weight that is left now, in the current window of a minute. */
  get left(): number {
    const nowMs = this.#clock.nowMs();
    const used = this.#follow.usage.used(nowMs) + this.#forward.usage.used(nowMs);
    return Math.max(0, Math.floor(this.limit * this.factor) - used);
  }

  /**
   * The part of the limit that may be used now. It is 1, or less after the upstream has refused
   * requests.
   */
  get factor(): number {
    return this.#throttle.factor(this.#clock.nowMs());
  }

  /** Grants the request now or later, or refuses it. */
  request(waiter: WaitingRequest): void {
    const fault = this.#findFault(waiter);
    if (fault === undefined) {
      this.#queueOf(waiter.priority).add(waiter);
      this.#grant();
    } else waiter.failed(fault);
  }

  /**
   * Returns the reason why a request can never be sent, or cannot be queued; otherwise returns
   * undefined.
   */
  #findFault(waiter: WaitingRequest): UpstreamError | undefined {
    if (this.#closedBy !== undefined) return this.#closedBy;
    const { weight, priority } = waiter;
    const { limit } = this.#partOf(priority);
    if (weight > limit) {
      const message = `a question of weight ${weight} is over the budget of ${limit} a minute`;
      return new UpstreamError('busy', message);
    }
    const full = this.#findFullQueue(waiter);
    if (full === undefined) return undefined;
    return new UpstreamError('busy', full, { retryAfterMs: this.waitMs(waiter) });
  }

  #findFullQueue(waiter: WaitingRequest): string | undefined {
    const queue = this.#queueOf(waiter.priority);
    if (queue.size >= QUEUE_MAX) return `${QUEUE_MAX} questions wait already`;
    const isFull = queue.isFullFor(waiter, QUEUE_OF_KEY_MAX);
    return isFull ? `${QUEUE_OF_KEY_MAX} questions of this key wait already` : undefined;
  }

  /**
   * Returns how long a request would have to wait for its weight, estimated from what is known now.
   */
  waitMs(request: WeightRequest): number {
    return Math.max(this.#partWaitMs(request), this.keyWaitMs(request));
  }

  #partWaitMs(request: WeightRequest): number {
    const { weight, priority } = request;
    const nowMs = this.#clock.nowMs();
    const { usage } = this.#partOf(priority);
    const used = usage.used(nowMs) + this.#queuedBefore(request);
    const missing = used + weight - this.#limitOf(priority, nowMs);
    const atMs = missing <= 0 || used === 0 ? nowMs : usage.releaseAtMs(missing, nowMs);
    return Math.max(atMs, this.#throttle.pausedUntilMs) - nowMs;
  }

  /** Returns the part of this wait that earlier requests of the same keys cause. */
  keyWaitMs({ weight, priority, keyIds }: WeightRequest): number {
    if (keyIds === undefined) return 0;
    const queued = this.#queueOf(priority).weightOf(keyIds);
    const shared = this.#describeShared(priority, this.#clock.nowMs());
    return this.#partOf(priority).keys.waitMs(keyIds, queued + weight, shared);
  }

  /**
   * Returns the weight of the requests that are sent before this request: more important requests,
   * and earlier requests of the same priority.
   */
  #queuedBefore(request: WeightRequest): number {
    const { priority } = request;
    const part = this.#partOf(priority);
    return PRIORITIES.filter((one) => this.#partOf(one) === part && isHigher(one, priority))
      .map((one) => this.#queueOf(one).weight)
      .reduce((sum, weight) => sum + weight, this.#queueOf(priority).weightBefore(request));
  }

  #describeShared(priority: Priority, nowMs: number): Shared {
    const part = this.#partOf(priority);
    const limit = this.#limitOf(priority, nowMs);
    return { limit, used: part.usage.used(nowMs), places: this.#placesOf(priority), nowMs };
  }

  /** Removes a waiting request from the queue; returns false if the request no longer waits. */
  withdraw(waiter: WaitingRequest): boolean {
    return this.#queueOf(waiter.priority).remove(waiter);
  }

  /**
   * Notes that another caller waits for the same question. If the caller's priority is higher, the
   * waiting request gets this priority.
   */
  promote(waiter: WaitingRequest, priority: Priority): void {
    const isOtherPart = this.#partOf(priority) !== this.#partOf(waiter.priority);
    const isMore = !isOtherPart && isHigher(priority, waiter.priority);
    if (isMore && this.withdraw(waiter)) {
      waiter.priority = priority;
      this.#queueOf(priority).add(waiter);
    }
    this.joined(waiter);
  }

  /**
   * Notes that more keys may wait for a request than before, so that the request may be sent
   * earlier.
   */
  joined(waiter: WaitingRequest): void {
    this.#queueOf(waiter.priority).update(waiter);
    this.#grant();
  }

  /** Sends no requests except probes, until `release` is called. */
  hold(): void {
    this.#isHeld = true;
  }

  release(): void {
    this.#isHeld = false;
    this.#grant();
  }

  /** Notes that a request that was sent at `sentMs` got a response. */
  answered(sentMs: number): void {
    this.#throttle.answered(sentMs);
    this.#confirm(this.#clock.nowMs());
  }

  /**
   * Notes that a request that was sent at `sentMs` got a 429. Returns true if this lowers the rate.
   */
  refused(sentMs: number, retryAfterMs: number | undefined): boolean {
    const nowMs = this.#clock.nowMs();
    this.#confirm(nowMs);
    return this.#throttle.refused(sentMs, nowMs, retryAfterMs);
  }

  #confirm(nowMs: number): void {
    for (const { usage, keys } of [this.#follow, this.#forward]) {
      usage.confirm(nowMs);
      keys.confirm(nowMs);
    }
  }

  /** Fails all waiting requests and all later requests. */
  close(error: UpstreamError): void {
    this.#closedBy = error;
    for (const queue of this.#queues.values()) {
      for (const waiter of queue.clear()) waiter.failed(error);
    }
    this.#cancelTimer?.();
  }

  #queueOf(priority: Priority): FairQueue<WaitingRequest> {
    return this.#queues.get(priority) as FairQueue<WaitingRequest>;
  }

  #partOf(priority: Priority): BudgetPart {
    return priority === 'forward' ? this.#forward : this.#follow;
  }

  #limitOf(priority: Priority, nowMs: number): number {
    const { limit } = this.#partOf(priority);
    return Math.floor(limit * SHARES[priority] * this.#throttle.factor(nowMs));
  }

  /** Grants all requests that may be sent now, in order of priority. */
  #grant(): void {
    const nowMs = this.#clock.nowMs();
    if (nowMs >= this.#throttle.pausedUntilMs) {
      for (const part of [this.#follow, this.#forward]) this.#grantPart(part, nowMs);
    }
    this.#schedule(nowMs);
  }

  #grantPart(part: BudgetPart, nowMs: number): void {
    let blockedShare = 0;
    for (const priority of PRIORITIES) {
      if (this.#partOf(priority) !== part || SHARES[priority] <= blockedShare) continue;
      let turn = this.#chooseTurn(priority, nowMs);
      while (turn !== undefined && this.#fits(turn.waiter, nowMs)) {
        this.withdraw(turn.waiter);
        this.#send(turn, nowMs);
        turn = this.#chooseTurn(priority, nowMs);
      }
      // Less important requests with less weight must not use up the weight that this request waits
      // for.
      if (turn !== undefined) blockedShare = SHARES[priority];
    }
  }

  #chooseTurn(priority: Priority, nowMs: number): Turn<WaitingRequest> | undefined {
    const queue = this.#queueOf(priority);
    if (queue.size === 0) return undefined;
    return this.#partOf(priority).keys.choose(queue, this.#describeShared(priority, nowMs));
  }

  #placesOf(priority: Priority): number {
    return Math.max(1, Math.floor(this.#partOf(priority).places * SHARES[priority]));
  }

  #fits({ weight, priority }: WaitingRequest, nowMs: number): boolean {
    const part = this.#partOf(priority);
    if (this.#isHeld && priority !== 'probe') return false;
    if (part.inFlight >= this.#placesOf(priority)) return false;
    if (priority === 'sweep' && nowMs < this.#sweepAtMs - SWEEP_BURST_MS) return false;
    const used = part.usage.used(nowMs);
    // If no weight is used, any request may be sent, even if the share of its priority is small or
    // the limit is lowered.
    return used === 0 || used + weight <= this.#limitOf(priority, nowMs);
  }

  #send({ waiter, keyId }: Turn<WaitingRequest>, sentMs: number): void {
    const { weight, priority } = waiter;
    const part = this.#partOf(priority);
    const endOfKey = keyId === undefined ? undefined : part.keys.start(keyId, weight, sentMs);
    part.inFlight++;
    part.usage.start(weight);
    this.#spent?.note(weight, part === this.#forward);
    if (priority === 'sweep') {
      const stepMs = (weight * SWEEP_PERIOD_MS) / Math.max(1, this.#limitOf('sweep', sentMs));
      this.#sweepAtMs = Math.max(this.#sweepAtMs, sentMs) + stepMs;
    }
    const end = (arrival: Arrival, charged: number) => {
      const nowMs = this.#clock.nowMs();
      part.inFlight--;
      part.usage.end(weight, charged, arrival, nowMs);
      endOfKey?.(weight, charged, arrival, nowMs);
      this.#grant();
    };
    waiter.granted({ sentMs, end });
  }

  /**
   * Sets a timer for the next time at which a waiting request may be granted without another event.
   */
  #schedule(nowMs: number): void {
    this.#cancelTimer?.();
    this.#cancelTimer = undefined;
    const waiting = PRIORITIES.filter((priority) => this.#queueOf(priority).size > 0);
    const times = waiting.flatMap((priority) => this.#changeTimes(priority, nowMs));
    const atMs = Math.min(...times.filter((timeMs) => timeMs > nowMs));
    if (atMs === NEVER_MS) return;
    this.#cancelTimer = this.#clock.setTimer(Math.ceil(atMs - nowMs), () => this.#grant());
  }

  #changeTimes(priority: Priority, nowMs: number): number[] {
    return [
      this.#partOf(priority).usage.nextReleaseMs ?? NEVER_MS,
      this.#throttle.pausedUntilMs,
      priority === 'sweep' ? this.#sweepAtMs - SWEEP_BURST_MS : NEVER_MS,
      this.#throttle.factor(nowMs) < 1 ? nowMs + RECOVERY_CHECK_MS : NEVER_MS,
    ];
  }
}
