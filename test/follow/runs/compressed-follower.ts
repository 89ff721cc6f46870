/**
 * A follower in this process, on a clock that runs faster than the machine's: pauses, windows and hours
 * pass in a fraction of their time. It is the follower of the service, apart from the ledger, which is
 * in memory, and the answers, which come straight from its state.
 */

import { parseBlock } from '../../../src/events/event.ts';
import { BlockError } from '../../../src/events/refusal.ts';
import { parseAddress } from '../../../src/exact/address.ts';
import type { FeedBlock } from '../../../src/feed/feed.ts';
import { answerQuestion } from '../../../src/info/read-question.ts';
import { Random } from '../../../src/simulator/random.ts';
import { applyBlock } from '../../../src/state/fold.ts';
import { accountTime, delegationsTime } from '../../../src/state/partial-ledger.ts';
import { createState, type State } from '../../../src/state/state.ts';
import type {
  FollowedItem,
  FollowStatus,
  ItemOutcome,
} from '../../../src/upstream/channel/follower-client.ts';
import type { Clock } from '../../../src/upstream/client/limits/clock.ts';
import { type PushHandler, UpstreamPush } from '../../../src/upstream/client/push/upstream-push.ts';
import { openUpstream, Upstream, type UpstreamLog } from '../../../src/upstream/client/upstream.ts';
import { readUpstreamAddress } from '../../../src/upstream/client/upstream-address.ts';
import { FollowFeed, type FollowOptions } from '../../../src/upstream/follower/follow-feed.ts';
import type { RunningStub } from '../../../tools/harness/running-stub.ts';
import type { Question } from '../../../tools/stub-exchange/dialect-answers.ts';
import type { FollowerAnswer } from '../../../tools/stub-exchange/follower-answers.ts';
import type { VirtualExchange } from './virtual-exchange.ts';

interface FollowerSizes {
  readonly sweepMs: number;
  readonly waitMs: number;
  readonly usersMax: number;
}

export interface CompressedOptions extends FollowerSizes {
  readonly stub: RunningStub;
  readonly seed: string;
  /** Weight a minute; Infinity for no limit. */
  readonly budget: number;
  /** The ledger of an earlier follower, to go on with. */
  readonly lines?: readonly string[];
}

export interface VirtualFollowerOptions extends FollowerSizes {
  readonly budget: number;
  readonly clock: Clock;
  readonly seed?: string;
}

const LINE_BYTES_MAX = 1 << 20;
const HOUR_MS = 3_600_000;
const MARKS_EVERY_MS = 60_000;

function compress(speed: number): Clock {
  return {
    nowMs: () => performance.now() * speed,
    setTimer(delayMs, callback) {
      const timer = setTimeout(callback, delayMs / speed);
      return () => clearTimeout(timer);
    },
  };
}

function logInto(warnings: string[]): UpstreamLog {
  return { info: () => undefined, warn: (message) => void warnings.push(message) };
}

type FeedParts = Pick<FollowOptions, 'upstream' | 'clock' | 'log' | 'createPush'>;

function createFeed({ sweepMs, waitMs, usersMax }: FollowerSizes, parts: FeedParts): FollowFeed {
  const limits = {
    forgetMs: HOUR_MS,
    sharedMs: 1_000,
    aheadMsMax: 0,
    lineBytesMax: LINE_BYTES_MAX,
    marksEveryMs: MARKS_EVERY_MS,
  };
  return new FollowFeed({
    ...parts,
    origin: 'the stub',
    intervalMs: 100,
    forwardKeepMs: 1000,
    redact: (text) => text,
    settings: { sweepMs, waitMs, usersMax, ...limits },
    wallMs: () => Date.now(),
  });
}

export class CompressedFollower {
  readonly #feed: FollowFeed;
  readonly #state: State = createState();
  readonly #stop = new AbortController();
  readonly #running: Promise<void>;
  /** The ledger: every block that was written. */
  readonly lines: string[] = [];
  /** Blocks that the follower made and the ledger refused: there should be none. */
  readonly refusals: string[] = [];
  readonly warnings: readonly string[];

  private constructor(feed: FollowFeed, warnings: readonly string[], lines: readonly string[]) {
    this.#feed = feed;
    this.warnings = warnings;
    for (const line of lines) this.#append(line);
    this.#running = this.#run();
  }

  static async start(options: CompressedOptions): Promise<CompressedFollower> {
    const { stub, seed, budget, usersMax } = options;
    const warnings: string[] = [];
    const log = logInto(warnings);
    const clock = compress(stub.options.speed);
    const drawn = new Random(seed);
    const random = () => drawn.fraction();
    const address = readUpstreamAddress(new URL(stub.url));
    const upstream = await openUpstream({ address, budget, log, clock, random });
    const limits = { subscriptionsMax: 1000, usersMax, messagesMax: 2000 };
    const createPush = (handler: PushHandler) =>
      new UpstreamPush({ address, limits, handler, log, clock, random });
    const feed = createFeed(options, { upstream, clock, log, createPush });
    return new CompressedFollower(feed, warnings, options.lines ?? []);
  }

  /** A follower of an exchange in this process. */
  static followVirtual(
    exchange: VirtualExchange,
    options: VirtualFollowerOptions,
  ): CompressedFollower {
    const { budget, clock } = options;
    const warnings: string[] = [];
    const log = logInto(warnings);
    const drawn = new Random(options.seed ?? 'virtual');
    const random = () => drawn.fraction();
    const address = readUpstreamAddress(new URL('http://virtual'));
    const upstream = new Upstream(exchange, { address, budget, log, clock, random });
    const limits = { subscriptionsMax: 1000, usersMax: options.usersMax, messagesMax: 2000 };
    const openSocket = () => exchange.openSocket();
    const createPush = (handler: PushHandler) =>
      new UpstreamPush({ address, limits, handler, log, clock, random, openSocket });
    const feed = createFeed(options, { upstream, clock, log, createPush });
    return new CompressedFollower(feed, warnings, []);
  }

  async #run(): Promise<void> {
    const { height, time } = this.#state;
    const start = { height, time, state: this.#state };
    try {
      for await (const blocks of this.#feed.blocks(start, this.#stop.signal)) {
        for (const block of blocks) this.#take(block);
      }
    } catch (error) {
      if (!this.#stop.signal.aborted) throw error;
    }
  }

  #take(block: FeedBlock): void {
    try {
      this.#append(String(block.line));
    } catch (error) {
      if (!(error instanceof BlockError) || block.refused === undefined) throw error;
      this.refusals.push(error.message);
      block.refused(error);
    }
  }

  #append(line: string): void {
    applyBlock(this.#state, parseBlock(line));
    this.lines.push(line);
  }

  get height(): number {
    return this.#state.height;
  }

  get status(): FollowStatus {
    return this.#feed.status();
  }

  /** As the service answers: what is unknown, or older than wanted, is read first. */
  async ask(question: Question, maxAgeMs = Number.POSITIVE_INFINITY): Promise<FollowerAnswer> {
    const item = itemOf(question);
    if (item === undefined) return this.#tell(question, undefined);
    const isKnown = this.#timeOf(item) > 0 && maxAgeMs === Number.POSITIVE_INFINITY;
    if (isKnown) this.#feed.noteInterest([{ item, count: 1, keyId: 'a' }]);
    // Everybody has a key of their own.
    const outcome = isKnown ? undefined : await this.#feed.readItem(item, maxAgeMs, item.user);
    return outcome === undefined || outcome.outcome === 'recorded'
      ? this.#tell(question, item)
      : tellOutcome(question, outcome);
  }

  #tell(question: Question, item: FollowedItem | undefined): FollowerAnswer {
    const headers = {
      'ledger-height': `${this.#state.height}`,
      'ledger-time': `${this.#state.time}`,
      ...(item === undefined ? {} : { 'account-time': `${this.#timeOf(item)}` }),
    };
    return { question, status: 200, headers, body: answerQuestion(this.#state, question) };
  }

  /** When the user's account was last read, by the exchange's clock; 0 if it never was. */
  accountTime(user: string, dex = ''): number {
    return this.#timeOf({ kind: 'account', user, dex });
  }

  /** 0 if it was never read. */
  #timeOf(item: FollowedItem): number {
    const address = parseAddress(item.user);
    if (address === undefined) return 0;
    if (item.kind === 'delegations') return delegationsTime(this.#state, address);
    const dexIndex = this.#state.markets.findDex(item.dex);
    return dexIndex === undefined ? 0 : accountTime(this.#state, address, dexIndex);
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#running;
  }
}

function itemOf({ type, user, dex = '' }: Question): FollowedItem | undefined {
  if (type === 'clearinghouseState') {
    return { kind: 'account', user: String(user), dex: String(dex) };
  }
  return type === 'delegations' ? { kind: 'delegations', user: String(user) } : undefined;
}

function tellOutcome(question: Question, outcome: ItemOutcome): FollowerAnswer {
  switch (outcome.outcome) {
    case 'upstream':
      return {
        question,
        status: 200,
        headers: { 'account-source': 'upstream', 'account-time': `${outcome.time}` },
        body: outcome.answer,
      };
    case 'busy':
      return { question, status: 503, headers: {}, body: outcome.reason };
    case 'failed':
      return { question, status: 502, headers: {}, body: outcome.reason };
    default:
      throw new Error(`an outcome ${outcome.outcome} has no answer of its own`);
  }
}
