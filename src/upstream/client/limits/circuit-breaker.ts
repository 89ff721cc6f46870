/**
 * Stops sending to an upstream that does not answer, and probes it until it does. Requests that lie
 * unread on a server that hangs would all be counted at once when it goes on: so there must be few.
 */

import { Backoff } from './backoff.ts';
import type { Clock } from './clock.ts';

/** Failures in a row after which the breaker opens. */
const FAILURES_MAX = 3;
const PROBE_FIRST_MS = 200;
/** What changes while it does not answer is seen so late when it does. */
export const PROBE_MAX_MS = 1_000;

export interface BreakerOptions {
  readonly clock: Clock;
  readonly random: () => number;
  /** Asks the upstream for something small; rejects if there is no answer. */
  probe(): Promise<void>;
  /** Called when the breaker opens, after each failed probe, and when it closes again. */
  opened(reason: string): void;
  probeFailed(reason: string): void;
  closed(): void;
}

export class CircuitBreaker {
  readonly #options: BreakerOptions;
  readonly #backoff: Backoff;
  /** Failures since the last answer. */
  #failures = 0;
  /** A probe has failed since it opened. */
  #hasProbeFailed = false;
  #reason: string | undefined;
  #isOpen = false;
  #isStopped = false;
  #cancelTimer: (() => void) | undefined;

  constructor(options: BreakerOptions) {
    this.#options = options;
    const { random } = options;
    this.#backoff = new Backoff({ firstMs: PROBE_FIRST_MS, maxMs: PROBE_MAX_MS, random });
  }

  get isOpen(): boolean {
    return this.#isOpen;
  }

  /** Why the upstream is not asked: it is open, and a probe has failed. */
  get downReason(): string | undefined {
    return this.#isOpen && this.#hasProbeFailed ? this.#reason : undefined;
  }

  /** Why the last request got no answer; undefined once there is one again. */
  get lastFailure(): string | undefined {
    return this.#reason;
  }

  /** A request got no answer. */
  failed(reason: string): void {
    this.#failures++;
    this.#reason = reason;
    if (this.#isOpen || this.#isStopped || this.#failures < FAILURES_MAX) return;
    this.#isOpen = true;
    this.#hasProbeFailed = false;
    this.#backoff.reset();
    this.#options.opened(reason);
    this.#scheduleProbe();
  }

  /** A request got an answer. */
  succeeded(): void {
    this.#failures = 0;
    this.#reason = undefined;
    if (!this.#isOpen) return;
    this.#isOpen = false;
    this.#cancelTimer?.();
    this.#options.closed();
  }

  #scheduleProbe(): void {
    const delayMs = this.#backoff.nextMs();
    this.#cancelTimer = this.#options.clock.setTimer(delayMs, () => void this.#probe());
  }

  async #probe(): Promise<void> {
    try {
      await this.#options.probe();
      this.succeeded();
    } catch (error) {
      // An earlier request may have been answered meanwhile.
      if (!this.#isOpen || this.#isStopped) return;
      this.#hasProbeFailed = true;
      this.#options.probeFailed((error as Error).message);
      this.#scheduleProbe();
    }
  }

  stop(): void {
    this.#isStopped = true;
    this.#cancelTimer?.();
  }
}
