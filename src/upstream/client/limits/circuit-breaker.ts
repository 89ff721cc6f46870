/**
 * Stops sending to an upstream that does not answer, and probes the upstream until it answers
 * again. When a server that hangs continues, it counts all unread requests at once. So only few
 * requests may wait there.
 */

import { Backoff } from '../../../timing/backoff.ts';
import type { Clock } from './clock.ts';

/** The number of failures in a row after which the breaker opens. */
const FAILURES_MAX = 3;
const PROBE_FIRST_MS = 200;
/**
 * The maximum time between two probes. After an outage, this is the maximum delay until the
 * follower notices that the upstream answers again.
 */
export const PROBE_MAX_MS = 1_000;

export interface BreakerOptions {
  readonly clock: Clock;
  readonly random: () => number;
  /** Asks the upstream a small question; rejects if there is no answer. */
  probe(): Promise<void>;
  /** Called when the breaker opens. */
  opened(reason: string): void;
  probeFailed(reason: string): void;
  closed(): void;
}

export class CircuitBreaker {
  readonly #options: BreakerOptions;
  readonly #backoff: Backoff;
  /** The number of failures since the last answer. */
  #failures = 0;
  /** True if a probe has failed since the breaker opened. */
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

  /**
   * The reason why the upstream is not asked; undefined unless the breaker is open and a probe has
   * failed.
   */
  get downReason(): string | undefined {
    return this.#isOpen && this.#hasProbeFailed ? this.#reason : undefined;
  }

  /** The reason why the last request got no answer; undefined after the next answer. */
  get lastFailure(): string | undefined {
    return this.#reason;
  }

  /** Notes that a request got no answer. */
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

  /** Notes that a request got an answer. */
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
      // An earlier request may have been answered in the meantime.
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
