/**
 * The exchange's time, as its answers and trades tell it. Blocks carry the latest one that was told,
 * never this machine's; ages are measured against an estimate of what it is now.
 *
 * Time never goes back, so a single wrong time ahead would make everything after it look old. A time
 * that is ahead of the estimate is therefore believed only if the heartbeat is told so too, twice in a
 * row: no account can make the time leap. With `--ahead-max 0` every time is believed.
 */

import type { Clock } from '../../client/limits/clock.ts';

/** How far a time may be ahead of the estimate. */
const AHEAD_MS_MAX = 10_000;
/** For how long a sample counts for the estimate. */
const SAMPLE_MS = 60_000;

export interface ExchangeTimeOptions {
  readonly clock: Clock;
  /** Maximum time ahead of this machine's clock, as for blocks; 0 for no limit. */
  readonly aheadMsMax: number;
  /** This machine's clock, in milliseconds since 1970. */
  wallMs(): number;
}

export class ExchangeTime {
  readonly #options: ExchangeTimeOptions;
  #latest = 0;
  #notedMs: number | undefined;
  /** The largest difference to our clock, in this period and in the one before it. */
  #offset: number | undefined;
  #offsetBefore: number | undefined;
  #periodMs = 0;
  /** A time that the heartbeat was told, too far ahead to be believed alone. */
  #unconfirmed: number | undefined;
  /** Why the heartbeat was told no time, since a time was last believed. */
  #failure: string | undefined;

  constructor(options: ExchangeTimeOptions) {
    this.#options = options;
  }

  /** The latest time that was told; 0 before the first. */
  get latest(): number {
    return this.#latest;
  }

  /** How long ago any time was told; undefined before the first. */
  get quietMs(): number | undefined {
    return this.#notedMs === undefined ? undefined : this.#options.clock.nowMs() - this.#notedMs;
  }

  /** Whether a time that is told can be judged. */
  get isKnown(): boolean {
    return this.#options.aheadMsMax === 0 || this.now !== undefined;
  }

  /** Why the time is not known, if it was asked for in vain. */
  get failure(): string | undefined {
    return this.#failure;
  }

  noteFailure(reason: string): void {
    this.#failure = reason;
  }

  /** What the exchange's time is now, in whole milliseconds, if it runs as fast as ours; undefined before the first. */
  get now(): number | undefined {
    const offset = this.#largestOffset;
    return offset === undefined ? undefined : Math.floor(this.#options.clock.nowMs() + offset);
  }

  /** Takes a time that was told just now; returns why it is not believed, if it is not. */
  note(time: number): string | undefined {
    return this.#findFault(time) ?? this.#believe(time);
  }

  /** As `note`, for the heartbeat. */
  noteAsked(time: number): string | undefined {
    const fault = this.#findFault(time);
    const before = this.#unconfirmed;
    this.#unconfirmed = fault === undefined ? undefined : time;
    const isConfirmed = before !== undefined && time >= before - AHEAD_MS_MAX;
    if (fault !== undefined && (!isConfirmed || this.#isBeyondLimit(time))) return fault;
    return this.#believe(time);
  }

  #believe(time: number): undefined {
    this.#unconfirmed = undefined;
    this.#failure = undefined;
    this.#latest = Math.max(this.#latest, time);
    this.#notedMs = this.#options.clock.nowMs();
    this.#addSample(time - this.#notedMs);
    return undefined;
  }

  #findFault(time: number): string | undefined {
    const { aheadMsMax } = this.#options;
    if (aheadMsMax === 0) return undefined;
    if (this.#isBeyondLimit(time)) {
      return `time: got ${time}, expected at most ${aheadMsMax} ms ahead of this machine's clock`;
    }
    const { now } = this;
    if (now === undefined) return `time: got ${time} before the exchange's time is known`;
    return time <= now + AHEAD_MS_MAX ? undefined : `time: got ${time}, expected about ${now}`;
  }

  #isBeyondLimit(time: number): boolean {
    const { aheadMsMax, wallMs } = this.#options;
    return aheadMsMax > 0 && time > wallMs() + aheadMsMax;
  }

  #addSample(offset: number): void {
    const nowMs = this.#options.clock.nowMs();
    if (nowMs - this.#periodMs >= SAMPLE_MS) {
      this.#offsetBefore = this.#offset;
      this.#offset = undefined;
      this.#periodMs = nowMs;
    }
    this.#offset = Math.max(this.#offset ?? offset, offset);
  }

  get #largestOffset(): number | undefined {
    const offsets = [this.#offset, this.#offsetBefore].filter((offset) => offset !== undefined);
    return offsets.length === 0 ? undefined : Math.max(...offsets);
  }
}
