/** Asks /health once a second, and less often while pushed states show that the ledger is fresh. */

import { askHealth, type Refusal } from '../service/service.ts';
import type { LiveData } from './live-data.ts';

const INTERVAL_MS = 1_000;
const INTERVAL_MS_MAX = 8_000;
/**
 * While pushed states show that the ledger is fresh, the page asks /health at this interval, for
 * its other fields.
 */
const INTERVAL_MS_PUSHED = 5_000;
/** The time for which a pushed state replaces the health check. */
const PUSH_FRESH_MS = 1_500;
/** The time within which push must answer a ping if HTTP does not answer. */
const PROBE_MS = 1_000;

interface HealthCheckOptions {
  readonly live: LiveData;
  /** Sends a ping on the push connection. */
  probe(): void;
  /** Called with the ledger that the service answers from. */
  ledgerKnown(ledger: string): void;
  /** Called with the ledger's time when the ledger is fresh. */
  fresh(timeMs: number): void;
  /** Called when the ledger is stale: new points of the chart are not known. */
  stale(): void;
  wentOffline(wasOffline: boolean): void;
  cameBack(): void;
}

export class HealthCheck {
  readonly #options: HealthCheckOptions;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #failures = 0;
  #isChecking = false;
  /** The time of the last message by push, by performance.now(). */
  #pushHeardMs = Number.NEGATIVE_INFINITY;
  /**
   * The time, by performance.now(), of the last pushed state that was newer than all earlier
   * states.
   */
  #freshPushMs = Number.NEGATIVE_INFINITY;
  /** The time of the last answer of /health, by performance.now(). */
  #answeredMs = Number.NEGATIVE_INFINITY;

  constructor(options: HealthCheckOptions) {
    this.#options = options;
  }

  /** Call this when a message has arrived by push. */
  notePush(): void {
    this.#pushHeardMs = performance.now();
  }

  /** Call this when a pushed state was newer than all earlier states. */
  noteFreshPush(): void {
    this.#freshPushMs = performance.now();
  }

  checkNow(): void {
    if (this.#isChecking) return;
    clearTimeout(this.#timer);
    void this.#check();
  }

  async #check(): Promise<void> {
    this.#isChecking = true;
    try {
      await this.#askHealth();
    } catch (error) {
      this.#failures++;
      if (!(await this.#isPushAlive())) this.#goOffline((error as Refusal).message);
    }
    this.#isChecking = false;
    this.#schedule(Math.min(INTERVAL_MS_MAX, INTERVAL_MS * 2 ** Math.min(this.#failures, 5)));
  }

  async #askHealth(): Promise<void> {
    const { live, ledgerKnown, fresh, stale, cameBack } = this.#options;
    const wasOffline = live.view.link.state === 'offline';
    const health = await askHealth();
    const isFresh = health.status === 'ok';
    this.#failures = 0;
    this.#answeredMs = performance.now();
    live.setHealth(health, this.#answeredMs);
    live.setLink(isFresh ? 'live' : 'stale', isFresh ? '' : health.message);
    if (health.ledger !== '') ledgerKnown(health.ledger);
    if (!isFresh) stale();
    if (wasOffline) cameBack();
    else if (isFresh) fresh(health.time);
  }

  #schedule(delayMs: number): void {
    this.#timer = setTimeout(() => {
      if (this.#isPushFresh()) this.#schedule(INTERVAL_MS);
      else void this.#check();
    }, delayMs);
  }

  /**
   * Returns true if pushed states replace the next health check. They never do if the ledger
   * follows an exchange, because they say nothing about the upstream.
   */
  #isPushFresh(): boolean {
    const { link, freshness } = this.#options.live.view;
    const nowMs = performance.now();
    if (link.state !== 'live' || freshness?.follow !== undefined) return false;
    return (
      nowMs - this.#freshPushMs < PUSH_FRESH_MS && nowMs - this.#answeredMs < INTERVAL_MS_PUSHED
    );
  }

  /** Returns true if push answers a ping. HTTP may be slow or blocked while push still works. */
  async #isPushAlive(): Promise<boolean> {
    const { live, probe } = this.#options;
    if (!live.view.link.isPush) return false;
    const askedMs = performance.now();
    probe();
    await new Promise((resolve) => setTimeout(resolve, PROBE_MS));
    return live.view.link.isPush && this.#pushHeardMs >= askedMs;
  }

  #goOffline(message: string): void {
    const { live, wentOffline } = this.#options;
    const wasOffline = live.view.link.state === 'offline';
    live.setLink('offline', message);
    wentOffline(wasOffline);
  }
}
