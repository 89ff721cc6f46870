/**
 * The push channels that deliver marks, best first: which channel is subscribed to, and whether it
 * still delivers marks. A channel that is refused, stays silent or sends unreadable frames is
 * replaced by the next channel. It is tried again on a later connection, or after an hour.
 */

interface MarkChannel {
  readonly type: 'fastAssetCtxs' | 'allDexsAssetCtxs';
  /** How long the marks of a frame are current. */
  readonly currentMs: number;
  /** Maximum time until the next frame, also for the first frame. */
  readonly silentMsMax: number;
  /** False if a frame has only the marks that have changed since the frame before. */
  readonly isEachWhole: boolean;
}

const CHANNELS: readonly MarkChannel[] = [
  { type: 'fastAssetCtxs', currentMs: 10_000, silentMsMax: 15_000, isEachWhole: false },
  { type: 'allDexsAssetCtxs', currentMs: 20_000, silentMsMax: 45_000, isEachWhole: true },
];
/** How long marks from an answer are current. */
const ANSWER_CURRENT_MS = 10_000;
/**
 * A channel that was left is tried again after these times: on a new connection, and on the same
 * connection.
 */
const RETRY_OPENED_MS = 600_000;
const RETRY_MS = 3_600_000;
/** If a second frame is unreadable within this time, the channel is left. */
const UNREADABLE_MS = 600_000;
/** How long a connection has time to deliver its first marks before the follower asks for them. */
const PUSH_GRACE_MS = 2_000;
const NEVER_MS = Number.NEGATIVE_INFINITY;

export class MarkChannels {
  #index = 0;
  #connection: 'opening' | 'open' | 'lost' = 'opening';
  /** True until the subscription has delivered a frame with all marks. */
  #isFirst = true;
  /** True if arriving frames may still belong to the previous subscription. */
  #isUnconfirmed = false;
  /** Since when the next frame is awaited. */
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

  /** Whether the connection is open, and the first frame of its channel is still awaited. */
  get isAwaited(): boolean {
    return this.#connection === 'open' && this.#isFirst && this.#channel !== undefined;
  }

  /**
   * Whether it is too early to ask for marks, since the connection is about to deliver all marks.
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

  /** Starts to wait for frames: the subscription is new, or was not possible before. */
  await(nowMs: number): void {
    this.#isFirst = true;
    this.#awaitedMs = nowMs;
    this.#graceUntilMs = nowMs + PUSH_GRACE_MS;
  }

  noteConfirmed(type: string): void {
    if (type === this.type) this.#isUnconfirmed = false;
  }

  /**
   * Notes that a frame was read. True if it has all marks, false if it has changed marks, undefined
   * if it says nothing about marks. On a channel that pushes changes, a frame without marks says
   * that no mark has changed.
   */
  noteFrame(nowMs: number, hasMarks: boolean): boolean | undefined {
    const isWhole = this.#channel?.isEachWhole || (this.#isFirst && !this.#isUnconfirmed);
    if (isWhole && !hasMarks) return undefined;
    if (!this.#isUnconfirmed) this.#awaitedMs = nowMs;
    if (isWhole) this.#isFirst = false;
    return isWhole;
  }

  /**
   * Notes that a frame could not be read. Its changes are lost, so the channel must start again:
   * true if this channel or the next channel should be subscribed to.
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

  /** Continues with the next channel. */
  leave(nowMs: number): void {
    this.#index++;
    this.#leftMs = nowMs;
    this.#isUnconfirmed = false;
    this.await(nowMs);
  }

  /**
   * Switches the channel if this channel is silent, or if a better channel is due again; true if
   * the subscription must change.
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
