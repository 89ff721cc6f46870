/**
 * Decides when the push connection may be opened again. The delay grows with each attempt, and the
 * number of connections per minute is limited.
 */

import { Backoff } from '../../../timing/backoff.ts';
import type { Clock } from './clock.ts';
import { WINDOW_MS } from './window-usage.ts';

const RECONNECT_FIRST_MS = 500;
/**
 * The maximum delay. With this delay, fewer than half of the 30 connections are opened that the
 * upstream allows in a minute.
 */
const RECONNECT_MAX_MS = 5_000;
/**
 * The maximum number of connections in a minute if the upstream closes them, and the number of
 * these that a search may use.
 */
const CLOSED_MAX = 10;
const SEARCHING_MAX = 8;

export class ConnectionPace {
  readonly #clock: Clock;
  readonly #backoff: Backoff;
  /** The times at which the last connections were opened. */
  #openedMs: readonly number[] = [];

  constructor(clock: Clock, random: () => number) {
    this.#clock = clock;
    this.#backoff = new Backoff({ firstMs: RECONNECT_FIRST_MS, maxMs: RECONNECT_MAX_MS, random });
  }

  noteOpening(): void {
    this.#openedMs = [...this.#openedMs.slice(1 - CLOSED_MAX), this.#clock.nowMs()];
  }

  /**
   * Resets the delay, because the connection was stable, or because the reason for its closing is
   * known.
   */
  reset(): void {
    this.#backoff.reset();
  }

  /**
   * True if one more connection may be used to find the subscription that makes the upstream close
   * connections.
   */
  get maySearch(): boolean {
    const nowMs = this.#clock.nowMs();
    return this.#openedMs.filter((ms) => nowMs - ms < WINDOW_MS).length < SEARCHING_MAX;
  }

  nextDelayMs(isClosedByUpstream: boolean): number {
    const delayMs = this.#backoff.nextMs();
    const isFull = isClosedByUpstream && this.#openedMs.length === CLOSED_MAX;
    const roomMs = isFull ? this.#openedMs[0] + WINDOW_MS - this.#clock.nowMs() : 0;
    return Math.round(Math.max(delayMs, roomMs));
  }
}
