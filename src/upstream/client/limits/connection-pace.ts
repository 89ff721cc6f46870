/** When the push connection may be opened again: later each time, and never too often in a minute. */

import { Backoff } from './backoff.ts';
import type { Clock } from './clock.ts';
import { WINDOW_MS } from './window-usage.ts';

const RECONNECT_FIRST_MS = 500;
/** So that not even half of the 30 connections are made that a minute may have. */
const RECONNECT_MAX_MS = 5_000;
/** Connections of a minute where the upstream closes them, and those of them for a search. */
const CLOSED_MAX = 10;
const SEARCHING_MAX = 8;

export class ConnectionPace {
  readonly #clock: Clock;
  readonly #backoff: Backoff;
  /** When the last connections were opened. */
  #openedMs: readonly number[] = [];

  constructor(clock: Clock, random: () => number) {
    this.#clock = clock;
    this.#backoff = new Backoff({ firstMs: RECONNECT_FIRST_MS, maxMs: RECONNECT_MAX_MS, random });
  }

  noteOpening(): void {
    this.#openedMs = [...this.#openedMs.slice(1 - CLOSED_MAX), this.#clock.nowMs()];
  }

  /** The connection was good, or it is known what it was closed for. */
  reset(): void {
    this.#backoff.reset();
  }

  /** Whether one more connection may be used to find out what it is closed for. */
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
