/**
 * The exchange's time, as the exchange reports it in answers and trades. A block has the latest of
 * these times, never the time of this machine. Ages are measured against an estimate of the
 * exchange's present time.
 *
 * The latest time never goes back, so one wrong time in the future would make all later times look
 * old. A time that is far ahead of the estimate is trusted only if the heartbeat receives such a
 * time twice in a row. So the answer about a single account cannot make the time jump. With
 * `--ahead-max 0`, every time is trusted.
 */

import type { Clock } from '../../client/limits/clock.ts';

/** The maximum time that a trusted time may be ahead of the estimate. */
const AHEAD_MS_MAX = 10_000;
/**
 * The length of a period. A sample is used for the estimate in its period and in the next period.
 */
const SAMPLE_MS = 60_000;

export interface ExchangeTimeOptions {
  readonly clock: Clock;
  /** The maximum time ahead of this machine's clock, as for blocks; 0 for no limit. */
  readonly aheadMsMax: number;
  /** This machine's clock, in milliseconds since 1970. */
  wallMs(): number;
}

export class ExchangeTime {
  readonly #options: ExchangeTimeOptions;
  #latest = 0;
  #notedMs: number | undefined;
  /**
   * The largest difference between the exchange's time and our clock, in the current period and in
   * the previous period.
   */
  #offset: number | undefined;
  #offsetBefore: number | undefined;
  #periodMs = 0;
  /**
   * A time that the heartbeat received, and that is too far ahead to be trusted without
   * confirmation.
   */
  #unconfirmed: number | undefined;
  /** The reason why the heartbeat received no time; undefined after a trusted time. */
  #failure: string | undefined;

  constructor(options: ExchangeTimeOptions) {
    this.#options = options;
  }

  /** The latest trusted time; 0 before the first trusted time. */
  get latest(): number {
    return this.#latest;
  }

  /** The time since the last message with a trusted time; undefined before the first. */
  get quietMs(): number | undefined {
    return this.#notedMs === undefined ? undefined : this.#options.clock.nowMs() - this.#notedMs;
  }

  /** True if received times can be checked. */
  get isKnown(): boolean {
    return this.#options.aheadMsMax === 0 || this.now !== undefined;
  }

  /**
   * The reason why the exchange's time is not known, if a question for the time failed; otherwise
   * undefined.
   */
  get failure(): string | undefined {
    return this.#failure;
  }

  noteFailure(reason: string): void {
    this.#failure = reason;
  }

  /**
   * The estimate of the exchange's present time, in whole milliseconds; undefined before the first
   * time. The estimate assumes that the exchange's clock runs as fast as our clock.
   */
  get now(): number | undefined {
    const offset = this.#largestOffset;
    return offset === undefined ? undefined : Math.floor(this.#options.clock.nowMs() + offset);
  }

  /**
   * Takes a received time. Returns the reason why the time is not trusted; returns undefined if it
   * is trusted.
   */
  note(time: number): string | undefined {
    return this.#findFault(time) ?? this.#believe(time);
  }

  /** Does the same as `note`, for a time that the heartbeat has asked for. */
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
