/**
 * Measures the push connection of the probed server: which subscriptions it accepts, how often
 * frames arrive, and which form they have.
 */

import { isJsonObject } from '../../events/fields.ts';
import type { Clock } from '../client/limits/clock.ts';
import type { PushHandler } from '../client/push/upstream-push.ts';
import type { UpstreamSubscription } from '../client/push/upstream-subscription.ts';
import { readPushedAccounts } from '../dialect/account-shape.ts';
import { DialectError } from '../dialect/dialect.ts';
import { readAllDexsAssetCtxs } from '../dialect/mark-answers.ts';
import type { MarketDirectory } from '../dialect/market-directory.ts';
import { readTrades } from '../dialect/trade-message.ts';
import { readFastFrame } from '../follower/markets/fast-frame.ts';
import { Distribution, type Spread } from './distribution.ts';

export interface SubscriptionRow {
  readonly subscription: UpstreamSubscription;
  readonly isConfirmed: boolean;
  /** The server's message; undefined if the server has not refused the subscription. */
  readonly refused: string | undefined;
  readonly frames: number;
  /** The time from the subscription to the first frame; undefined if no frame arrived. */
  readonly firstMs: number | undefined;
  /** The time between two frames. */
  readonly interval: Spread | undefined;
  /** The number of marks in the first frame, and in the largest later frame. */
  readonly marksFirst: number | undefined;
  readonly marksLater: number | undefined;
  /** For trades, the time from the trade to its arrival, by this machine's clock. */
  readonly age: Spread | undefined;
  /** The first fault that our readers found; undefined if they could read every frame. */
  readonly fault: string | undefined;
}

/**
 * The maximum number of report lines about lost connections and errors. Further lines are only
 * counted.
 */
const LINES_MAX = 20;

class Channel {
  readonly subscription: UpstreamSubscription;
  readonly #wantedMs: number;
  readonly intervals = new Distribution();
  readonly ages = new Distribution();
  isConfirmed = false;
  refused: string | undefined;
  fault: string | undefined;
  frames = 0;
  marks: readonly [first: number, later: number] | undefined;
  #firstMs: number | undefined;
  #lastMs = 0;

  constructor(subscription: UpstreamSubscription, wantedMs: number) {
    this.subscription = subscription;
    this.#wantedMs = wantedMs;
  }

  noteFrame(nowMs: number): void {
    if (this.frames > 0) this.intervals.add(nowMs - this.#lastMs);
    else this.#firstMs = Math.round(nowMs - this.#wantedMs);
    this.#lastMs = nowMs;
    this.frames++;
  }

  noteMarks(count: number): void {
    const [first, later] = this.marks ?? [count, 0];
    this.marks = [first, this.marks === undefined ? 0 : Math.max(later, count)];
  }

  get row(): SubscriptionRow {
    const { subscription, isConfirmed, refused, frames, intervals, ages, fault } = this;
    return {
      ...{ subscription, isConfirmed, refused, frames, fault },
      firstMs: this.#firstMs,
      interval: intervals.spread,
      marksFirst: this.marks?.[0],
      marksLater: this.marks?.[1],
      age: ages.spread,
    };
  }
}

export interface ProbePushOptions {
  readonly clock: Clock;
  wallMs(): number;
  directory(): MarketDirectory;
}

export class ProbePush implements PushHandler {
  readonly #options: ProbePushOptions;
  readonly #channels: Channel[] = [];
  #opened = 0;
  #mishaps = 0;
  /** The errors of the server and the lost connections, in the order in which they happened. */
  readonly lines: string[] = [];

  constructor(options: ProbePushOptions) {
    this.#options = options;
  }

  addSubscription(subscription: UpstreamSubscription): void {
    this.#channels.push(new Channel(subscription, this.#options.clock.nowMs()));
  }

  get wanted(): UpstreamSubscription[] {
    return this.#channels.map(({ subscription }) => subscription);
  }

  get rows(): SubscriptionRow[] {
    return this.#channels.map(({ row }) => row);
  }

  get connections(): number {
    return this.#opened;
  }

  get mishaps(): number {
    return this.#mishaps;
  }

  opened(): void {
    this.#opened++;
  }

  acknowledged(subscription: UpstreamSubscription): void {
    const channel = this.#find(subscription);
    if (channel !== undefined) channel.isConfirmed = true;
  }

  refused(subscription: UpstreamSubscription, reason: string): void {
    const channel = this.#find(subscription);
    if (channel !== undefined) channel.refused ??= reason;
    this.#noteLine(`${JSON.stringify(subscription)}: ${reason}`);
  }

  lost(reason: string): void {
    this.#noteLine(`connection lost: ${reason}`);
  }

  #noteLine(line: string): void {
    this.#mishaps++;
    if (this.lines.length < LINES_MAX) this.lines.push(line);
  }

  #find(subscription: UpstreamSubscription): Channel | undefined {
    const text = JSON.stringify(subscription);
    return this.#channels.find((channel) => JSON.stringify(channel.subscription) === text);
  }

  message(name: string, data: unknown): void {
    const channel = this.#channels.find(
      ({ subscription: { type, coin } }) =>
        type === name && (coin === undefined || coin === coinOf(data)),
    );
    if (channel === undefined) return;
    channel.noteFrame(this.#options.clock.nowMs());
    const fault = this.#read(channel, data);
    if (fault !== undefined) channel.fault ??= fault.message;
  }

  #read(channel: Channel, data: unknown): Error | undefined {
    const { type } = channel.subscription;
    if (type === 'trades') return this.#readTrades(channel, data);
    if (type === 'fastAssetCtxs' || type === 'allDexsAssetCtxs') {
      const read = type === 'fastAssetCtxs' ? readFastFrame : readAllDexsAssetCtxs;
      const reading = read(data, this.#options.directory());
      if (reading instanceof DialectError) return reading;
      channel.noteMarks(reading.prices.size);
      const [odd] = reading.odd;
      const [skipped] = reading.skipped;
      return odd ?? (skipped && new Error(`${skipped.name}: ${skipped.reason}`));
    }
    const read = readPushedAccounts(data);
    return read instanceof DialectError ? read : read.odd[0];
  }

  /**
   * Reads trades, and notes their ages. The first frame repeats old trades, so its ages are not
   * counted.
   */
  #readTrades(channel: Channel, data: unknown): Error | undefined {
    const read = readTrades(data);
    if (read instanceof DialectError) return read;
    const nowMs = this.#options.wallMs();
    if (channel.frames > 1) for (const { time } of read.trades) channel.ages.add(nowMs - time);
    return read.odd;
  }
}

/** Returns the coin of a frame of trades: all trades of one frame have the same coin. */
function coinOf(data: unknown): unknown {
  const [first] = Array.isArray(data) ? data : [];
  return isJsonObject(first) ? first['coin'] : undefined;
}
