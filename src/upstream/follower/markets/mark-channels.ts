/**
 * The push channels that bring marks, best first: which one is subscribed to, and whether it still
 * brings them. A channel that is refused, stays silent or brings frames that cannot be read makes room
 * for the next one, and is tried again on a later connection, or after an hour.
 */

interface MarkChannel {
  readonly type: 'fastAssetCtxs' | 'allDexsAssetCtxs';
  /** How long the marks of a frame are current. */
  readonly currentMs: number;
  /** How long a frame may take to come, the first one too. */
  readonly silentMsMax: number;
  /** False if a frame has only what has changed since the one before it. */
  readonly isEachWhole: boolean;
}

const CHANNELS: readonly MarkChannel[] = [
  { type: 'fastAssetCtxs', currentMs: 10_000, silentMsMax: 15_000, isEachWhole: false },
  { type: 'allDexsAssetCtxs', currentMs: 20_000, silentMsMax: 45_000, isEachWhole: true },
];
/** Marks that were asked for are current for so long. */
const ANSWER_CURRENT_MS = 10_000;
/** A channel that was left is tried again after this time, on a new connection and on the same one. */
const RETRY_OPENED_MS = 600_000;
const RETRY_MS = 3_600_000;
/** A second unreadable frame within this time, and the channel is left. */
const UNREADABLE_MS = 600_000;
/** How long a connection has to bring its first marks before they are asked for. */
const PUSH_GRACE_MS = 2_000;
const NEVER_MS = Number.NEGATIVE_INFINITY;

export class MarkChannels {
  #index = 0;
  #connection: 'opening' | 'open' | 'lost' = 'opening';
  /** True until the subscription has brought a frame. */
  #isFirst = true;
  /** True if the frames that come may still be those of the subscription before this one. */
  #isUnconfirmed = false;
  /** Since when a frame is awaited. */
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

  /** Whether the connection is open, and its channel may bring its first frame yet. */
  get isAwaited(): boolean {
    return this.#connection === 'open' && this.#isFirst && this.#channel !== undefined;
  }

  /** Whether asking makes no sense yet, since the connection is about to bring all marks. */
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

  /** Frames are awaited from now on: the subscription is new, or could not be made before. */
  await(nowMs: number): void {
    this.#isFirst = true;
    this.#awaitedMs = nowMs;
    this.#graceUntilMs = nowMs + PUSH_GRACE_MS;
  }

  noteConfirmed(type: string): void {
    if (type === this.type) this.#isUnconfirmed = false;
  }

  /**
   * A frame was read: true if it has all marks, undefined if it says nothing about them. One without
   * marks says that none has changed, if it is one of those that have only what has changed.
   */
  noteFrame(nowMs: number, hasMarks: boolean): boolean | undefined {
    const isWhole = this.#channel?.isEachWhole || (this.#isFirst && !this.#isUnconfirmed);
    if (isWhole && !hasMarks) return undefined;
    if (!this.#isUnconfirmed) this.#awaitedMs = nowMs;
    if (isWhole) this.#isFirst = false;
    return isWhole;
  }

  /**
   * A frame could not be read. What has changed in it is lost, so the channel has to begin anew: true
   * if it should be subscribed to once more, or the next one.
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

  /** Goes on to the next channel. */
  leave(nowMs: number): void {
    this.#index++;
    this.#leftMs = nowMs;
    this.#isUnconfirmed = false;
    this.await(nowMs);
  }

  /** True if another channel is to be subscribed to: this one is silent, or a better one is due. */
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
