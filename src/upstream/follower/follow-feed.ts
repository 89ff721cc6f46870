/**
 * A live exchange as a feed. Answers and pushed messages of the exchange's server become blocks,
 * with at most one block in each interval. No message of the server ends the feed.
 */

import type { BlockError } from '../../events/refusal.ts';
import type { Feed, FeedBlock, FeedStart } from '../../feed/feed.ts';
import type { QuestionBody } from '../../info/question.ts';
import type { StateView } from '../../state/state.ts';
import type {
  FollowedItem,
  FollowerHandler,
  FollowStatus,
  ForwardOutcome,
  Interest,
  ItemOutcome,
} from '../channel/follower-client.ts';
import { BlockPace } from './blocks/block-pace.ts';
import type { TakenBlock } from './blocks/pending-changes.ts';
import { outcomeOfShortage } from './failure-outcomes.ts';
import { FollowSession, type FollowUpstream, type SessionOptions } from './follow-session.ts';
import { type BytesAsker, Forwarder } from './forwarder.ts';
import { mapTexts } from './map-texts.ts';

/**
 * The pause after a whole block was refused. Only time can help, for example until a wrong clock is
 * set.
 */
const REFUSED_PAUSE_MS = 1_000;
/** The maximum time that a service waits for the first markets before it starts to answer. */
const READY_MS_MAX = 5_000;

export interface FollowOptions extends SessionOptions {
  readonly upstream: FollowUpstream & BytesAsker & { close(): Promise<void> };
  readonly intervalMs: number;
  readonly forwardKeepMs: number;
  /** Removes secrets from a text: any text of an upstream may contain the upstream's address. */
  redact(text: string): string;
}

export class FollowFeed implements Feed, FollowerHandler {
  readonly name: string;
  readonly #options: FollowOptions;
  readonly #forwarder: Forwarder;
  readonly #pace: BlockPace;
  /**
   * Resolves when the ledger is partial and has markets, after READY_MS_MAX, or when the feed ends.
   */
  readonly ready: Promise<void>;
  #setReady: () => void = () => undefined;
  /**
   * Resolves at the start if the ledger is already partial: then the ledger can answer questions at
   * once.
   */
  readonly resumed: Promise<void>;
  #setResumed: () => void = () => undefined;
  /** The session; undefined until there is a ledger to write to. */
  #session: FollowSession | undefined;

  constructor(options: FollowOptions) {
    const { origin, upstream, forwardKeepMs: ttlMs, intervalMs, clock, settings } = options;
    this.name = origin;
    this.#options = options;
    const directory = () => this.#session?.pending.directory;
    this.#forwarder = new Forwarder({
      upstream,
      ttlMs,
      waitMsMax: settings.waitMs,
      clock,
      directory,
    });
    this.#pace = new BlockPace(clock, intervalMs);
    this.ready = new Promise((resolve) => {
      this.#setReady = resolve;
    });
    this.resumed = new Promise((resolve) => {
      this.#setResumed = resolve;
    });
  }

  async *blocks(start: FeedStart, signal: AbortSignal): AsyncGenerator<readonly FeedBlock[]> {
    const session = new FollowSession(start.state, this.#options);
    session.pending.changed = () => this.#pace.wake();
    this.#session = session;
    if (start.state.isPartial) this.#setResumed();
    const cancelWait = this.#options.clock.setTimer(READY_MS_MAX, this.#setReady);
    try {
      while (!signal.aborted) {
        if (start.state.isPartial && start.state.markets.markets.length > 0) this.#setReady();
        const taken = await this.#untilTaken(session, start.state, signal);
        if (taken !== undefined) yield* this.#offer(taken, session, start.state);
      }
    } finally {
      this.#setReady();
      cancelWait();
      session.stop();
      await this.#options.upstream.close();
    }
  }

  async #untilTaken(
    { pending, time }: FollowSession,
    ledger: StateView,
    signal: AbortSignal,
  ): Promise<TakenBlock | undefined> {
    await this.#pace.untilDue(() => pending.isDue(ledger, time.latest), signal);
    if (signal.aborted) return undefined;
    this.#pace.pause();
    return pending.takeBlock(ledger, time.latest);
  }

  /**
   * Offers one block at a time: if a block is refused, the block after it would have the wrong
   * height.
   */
  async *#offer(
    taken: TakenBlock,
    { audit }: FollowSession,
    ledger: StateView,
  ): AsyncGenerator<readonly FeedBlock[]> {
    let refusal: BlockError | undefined;
    const refused = (error: BlockError) => {
      refusal = error;
    };
    yield [{ line: taken.line, refused }];
    if (refusal === undefined) taken.applied(ledger.height);
    else this.#report(audit, taken.refused(refusal), refusal);
  }

  #report(
    audit: FollowSession['audit'],
    dropped: string | undefined,
    { message }: BlockError,
  ): void {
    if (dropped === undefined) {
      this.#pace.pause(REFUSED_PAUSE_MS);
      audit.warn(`a block is refused, and tried again: ${message}`);
    } else audit.warn(`${dropped} is refused, and left out: ${message}`);
  }

  async readItem(item: FollowedItem, maxAgeMs: number, keyId: string): Promise<ItemOutcome> {
    const outcome = await this.#session?.readItem(item, maxAgeMs, keyId);
    return this.#redactReason(outcome ?? outcomeOfShortage('the follower is starting'));
  }

  #redactReason<O extends ItemOutcome | ForwardOutcome>(outcome: O): O {
    if (!('reason' in outcome)) return outcome;
    return { ...outcome, reason: this.#options.redact(outcome.reason) };
  }

  noteInterest(interests: readonly Interest[]): void {
    this.#session?.noteInterest(interests);
  }

  async forward(question: QuestionBody, keyId: string): Promise<ForwardOutcome> {
    return this.#redactReason(await this.#forwarder.forward(question, keyId));
  }

  status(): FollowStatus {
    const status = this.#session?.status ?? this.#describeStart();
    return mapTexts(status, this.#options.redact);
  }

  #describeStart(): FollowStatus {
    const ages = {
      marks: null,
      otherMarks: null,
      markets: null,
      stream: null,
      accountsMedian: null,
      accountsMax: null,
    };
    return {
      upstream: this.#options.origin,
      isHealthy: false,
      reason: 'the follower is starting',
      ages,
      followed: 0,
      budget: null,
      leftOut: { count: 0, named: [] },
      counters: { mismatches: {}, surprises: {} },
    };
  }
}
