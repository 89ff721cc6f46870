/**
 * The push channels that deliver marks, the best channel first. This class knows which channel is
 * subscribed to, and whether the channel still delivers marks. If a channel is refused, stays
 * silent or sends unreadable frames, it is replaced by the next channel. The channel is tried again
 * on a later connection, or after an hour.
 */

interface MarkChannel {
  readonly type: 'fastAssetCtxs' | 'allDexsAssetCtxs';
  /** The time for which the marks of a frame are current. */
  readonly currentMs: number;
  /** The maximum time until the next frame. It also applies to the first frame. */
  readonly silentMsMax: number;
  /**
   * True if every frame has all marks; false if a frame has only the marks that have changed after
   * the previous frame.
   */
  readonly isEachWhole: boolean;
}

const CHANNELS: readonly MarkChannel[] = [
  { type: 'fastAssetCtxs', currentMs: 10_000, silentMsMax: 15_000, isEachWhole: false },
  { type: 'allDexsAssetCtxs', currentMs: 20_000, silentMsMax: 45_000, isEachWhole: true },
];
/** The time for which marks from an answer are current. */
const ANSWER_CURRENT_MS = 10_000;
/**
 * The time after which a replaced channel is tried again: on a new connection, and on the same
 * connection.
 */
const RETRY_OPENED_MS = 600_000;
const RETRY_MS = 3_600_000;
/** If two frames are unreadable within this time, the channel is replaced. */
const UNREADABLE_MS = 600_000;
/**
 * The time in which a connection should deliver its first marks. Only afterwards, the follower asks
 * for marks.
 */
const PUSH_GRACE_MS = 2_000;
const NEVER_MS = Number.NEGATIVE_INFINITY;

export class MarkChannels {
  #index = 0;
  #connection: 'opening' | 'open' | 'lost' = 'opening';
  /** True until the subscription has delivered a frame with all marks. */
  #isFirst = true;
  /** True if arriving frames may still belong to the previous subscription. */
  #isUnconfirmed = false;
  /** The time since which the next frame is expected. */
  #awaitedMs: number;
  #graceUntilMs: number;
  #leftMs = NEVER_MS;
  #unreadableMs = NEVER_MS;

  constructor(nowMs: number) {
    this.#awaitedMs = nowMs;
    this.#graceUntilMs = nowMs + PUSH_GRACE_MS;
  }

  get type(): MarkChannel['type'] | undefined {
    return this.#channel?.type;
  }

  get currentMs(): number {
    return this.#channel?.currentMs ?? ANSWER_CURRENT_MS;
  }

  get #channel(): MarkChannel | undefined {
    return CHANNELS[this.#index];
  }

  /** True if the connection is open, and the channel has not delivered its first frame yet. */
  get isAwaited(): boolean {
    return this.#connection === 'open' && this.#isFirst && this.#channel !== undefined;
  }

  /**
   * Returns true if it is too early to ask for marks, because the connection should soon deliver
   * all marks.
   */
  isInGrace(nowMs: number): boolean {
    const isPossible = this.#channel !== undefined && this.#connection !== 'lost';
    return isPossible && nowMs < this.#graceUntilMs;
  }

  noteOpened(nowMs: number): void {
    this.#connection = 'open';
    if (nowMs - this.#leftMs > RETRY_OPENED_MS) this.#index = 0;
    this.await(nowMs);
    this.#isUnconfirmed = false;
  }

  noteLost(): void {
    this.#connection = 'lost';
  }

  /** Starts to wait for frames, because the subscription is new or has only now become possible. */
  await(nowMs: number): void {
    this.#isFirst = true;
    this.#awaitedMs = nowMs;
    this.#graceUntilMs = nowMs + PUSH_GRACE_MS;
  }

  noteConfirmed(type: string): void {
    if (type === this.type) this.#isUnconfirmed = false;
  }

  /**
   * Notes that a frame was read. Returns true if the frame has all marks, false if it has only
   * changes, and undefined if it says nothing about marks. On a channel that pushes changes, a
   * frame without marks means that no mark has changed.
   */
  noteFrame(nowMs: number, hasMarks: boolean): boolean | undefined {
    const isWhole = this.#channel?.isEachWhole || (this.#isFirst && !this.#isUnconfirmed);
    if (isWhole && !hasMarks) return undefined;
    if (!this.#isUnconfirmed) this.#awaitedMs = nowMs;
    if (isWhole) this.#isFirst = false;
    return isWhole;
  }

  /**
   * Notes that a frame could not be read. Returns true if the caller must subscribe again, to this
   * channel or to the next channel: on a channel that pushes changes, the changes of this frame are
   * lost.
   */
  noteUnreadable(nowMs: number): boolean {
    if (this.#channel?.isEachWhole) return false;
    const isRepeated = nowMs - this.#unreadableMs < UNREADABLE_MS;
    this.#unreadableMs = nowMs;
    if (isRepeated) this.leave(nowMs);
    else {
      this.await(nowMs);
      this.#isUnconfirmed = true;
    }
    return true;
  }

  /** Replaces this channel with the next channel. */
  leave(nowMs: number): void {
    this.#index++;
    this.#leftMs = nowMs;
    this.#isUnconfirmed = false;
    this.await(nowMs);
  }

  /**
   * Replaces the channel if it is silent, or if a better channel should be tried again. Returns
   * true if the subscription must change.
   */
  switch(nowMs: number): boolean {
    if (this.#connection !== 'open') return false;
    const channel = this.#channel;
    if (channel !== undefined && nowMs - this.#awaitedMs >= channel.silentMsMax) {
      this.leave(nowMs);
      return true;
    }
    if (this.#index === 0 || nowMs - this.#leftMs < RETRY_MS) return false;
    this.#index = 0;
    this.await(nowMs);
    return true;
  }
}
