/** A simulated exchange and its follower in one process, on a clock that only the test moves. */

import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { parseBlock } from '../../../src/events/event.ts';
import { BlockError } from '../../../src/events/refusal.ts';
import { type Address, formatAddress } from '../../../src/exact/address.ts';
import type { QuestionBody } from '../../../src/info/question.ts';
import { answerQuestion } from '../../../src/info/read-question.ts';
import { RequestError } from '../../../src/info/request-error.ts';
import { PUBLIC_WEIGHTS } from '../../../src/info/upstream-weights.ts';
import { createSimulator, type Simulator } from '../../../src/simulator/simulator.ts';
import { FIRST_ACCOUNT } from '../../../src/state/addresses.ts';
import { applyBlock } from '../../../src/state/fold.ts';
import { createState, type State, type StateView } from '../../../src/state/state.ts';
import * as column from '../../../src/state/tables/columns.ts';
import type { FollowedItem, ItemOutcome } from '../../../src/upstream/channel/follower-client.ts';
import type { LeftOut } from '../../../src/upstream/client/push/left-out-subscriptions.ts';
import type { PushHandler } from '../../../src/upstream/client/push/upstream-push.ts';
import type { UpstreamSubscription } from '../../../src/upstream/client/push/upstream-subscription.ts';
import type { AskOptions, UpstreamLog } from '../../../src/upstream/client/upstream.ts';
import { UpstreamError } from '../../../src/upstream/client/upstream-error.ts';
import { FollowFeed } from '../../../src/upstream/follower/follow-feed.ts';
import type { SessionSettings } from '../../../src/upstream/follower/follow-session.ts';
import { createNoPush } from '../../../src/upstream/follower/push/no-push.ts';
import { printAccount } from '../../../tools/stub-exchange/printed-doubles.ts';
import { ManualClock } from '../../follow/manual-clock.ts';

/** Half past: no funding is booked in most tests. */
const START_TIME = 1_758_558_600_000;
const STEP_MS = 50;
const BLOCK_MS = 1_000;

/** Stands for a key in the upstream's address. */
export const SECRET = 'SECRETKEY123';

type Json = ReturnType<typeof JSON.parse>;
/** The answer that is given instead; undefined for the true one. May throw an UpstreamError. */
export type Fault = (question: QuestionBody, truth: Json) => Json | undefined;

/** What a fault gives as the text of an answer. */
export class AnswerText {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

export interface Asked {
  readonly question: QuestionBody;
  readonly priority: AskOptions['priority'];
  readonly atMs: number;
  /** For whom; more keys may join. */
  readonly waitingKeys: AskOptions['waitingKeys'];
}

export interface ExchangeChoice {
  readonly settings?: Partial<SessionSettings>;
  /** The ledger that the follower continues. */
  readonly ledger?: State;
  readonly lines?: string[];
  readonly simulator?: Simulator;
  readonly clock?: ManualClock;
  /** What is left of the upstream's budget of 1,200. */
  readonly budgetLeft?: number;
  /** False if the push connection is not open yet; by default it has failed. */
  readonly hasNoPush?: boolean;
  /** As with --follow-push off. */
  readonly isPushOff?: boolean;
}

export class FollowedExchange {
  readonly clock: ManualClock;
  readonly simulator: Simulator;
  readonly ledger: State;
  readonly lines: string[];
  readonly feed: FollowFeed;
  readonly asked: Asked[] = [];
  readonly log: string[] = [];
  /** The accounts that were told, by user and time, with their exact amounts. */
  readonly told = new Map<string, Json>();
  /** When each block was offered. */
  readonly blockMs: number[] = [];
  subscriptions: readonly UpstreamSubscription[] = [];
  /** What the push connection reports as not taken. */
  readonly leftOut: LeftOut[] = [];
  handler: PushHandler | undefined;
  pushLog: UpstreamLog | undefined;
  fault: Fault = () => undefined;
  /** What a ledger refuses beside what does not apply. */
  refuse: (line: string) => BlockError | undefined = () => undefined;
  hasBlocks = true;
  readonly #stop = new AbortController();
  readonly #writing: Promise<void>;
  readonly #isPushOff: boolean;
  readonly #startMs: number;
  #blockAtMs: number;

  constructor(choice: ExchangeChoice = {}) {
    const { settings, ledger, lines, simulator, clock, budgetLeft = 1_000 } = choice;
    this.clock = clock ?? new ManualClock();
    this.#startMs = this.clock.nowMs();
    this.#blockAtMs = this.#startMs + BLOCK_MS;
    this.simulator = simulator ?? createExchange();
    this.ledger = ledger ?? createState();
    this.lines = lines ?? [];
    this.#isPushOff = choice.isPushOff ?? false;
    this.feed = this.#createFeed(budgetLeft, settings);
    this.#writing = this.#write();
    if (choice.hasNoPush ?? true) this.handler?.lost('there is no push');
  }

  #createFeed(left: number, settings: Partial<SessionSettings> = {}): FollowFeed {
    const { clock } = this;
    return new FollowFeed({
      origin: 'http://exchange',
      upstream: {
        budget: { limit: 1_200, left },
        health: { isHealthy: true },
        weights: PUBLIC_WEIGHTS,
        ask: (question, options) => this.#ask(question, options),
        askAnswer: async (question, options) => {
          const told = await this.#ask(question, options);
          // A text stands for an answer that cannot be written as a value.
          const text = told instanceof AnswerText ? told.text : JSON.stringify(told);
          return { text, json: JSON.parse(text) };
        },
        askBytes: async (question, options) => {
          const told = await this.#ask(question, options);
          return { bytes: Buffer.from(JSON.stringify(told)), rows: undefined };
        },
        close: async () => undefined,
      },
      createPush: (handler, log) => {
        if (this.#isPushOff) return createNoPush(handler, log);
        this.handler = handler;
        this.pushLog = log;
        return {
          leftOut: this.leftOut,
          subscribe: (wanted) => {
            this.subscriptions = wanted;
          },
          close: () => undefined,
        };
      },
      settings: {
        sweepMs: 60_000,
        forgetMs: 3_600_000,
        marksEveryMs: 60_000,
        waitMs: 5_000,
        sharedMs: 1_000,
        usersMax: 0,
        aheadMsMax: 300_000,
        lineBytesMax: 1 << 20,
        ...settings,
      },
      intervalMs: 100,
      forwardKeepMs: 1_000,
      redact: (text) => text.replaceAll(SECRET, '***'),
      log: { info: (line) => this.log.push(line), warn: (line) => this.log.push(line) },
      clock,
      wallMs: () => this.simulator.state.time,
    });
  }

  get truth(): StateView {
    return this.simulator.state;
  }

  async #ask(question: QuestionBody, { priority, waitingKeys }: AskOptions): Promise<Json> {
    this.asked.push({ question, priority, atMs: this.clock.nowMs(), waitingKeys });
    await nextTurn();
    const truth = this.exactAnswer(question);
    this.told.set(`${question['user']}@${truth?.time}`, truth);
    const printed = print(question, truth);
    const wrong = this.fault(question, structuredClone(printed));
    return wrong === undefined ? printed : wrong;
  }

  /** As the exchange prints it, in an answer or a pushed message. */
  answer(question: QuestionBody): Json {
    return print(question, this.exactAnswer(question));
  }

  /** The exact amounts, before the exchange prints them. */
  exactAnswer(question: QuestionBody): Json {
    try {
      return JSON.parse(answerQuestion(this.truth, question));
    } catch (error) {
      if (!(error instanceof RequestError)) throw error;
      throw new UpstreamError('refused', error.message, { status: 422 });
    }
  }

  /** The upstream takes all subscriptions that are wanted now. */
  confirm(): void {
    for (const subscription of this.subscriptions) this.handler?.acknowledged(subscription);
  }

  /** As a block writer does. */
  async #write(): Promise<void> {
    const { height, time } = this.ledger;
    const start = { height, time, state: this.ledger };
    for await (const batch of this.feed.blocks(start, this.#stop.signal)) {
      for (const block of batch) {
        const line = block.line.toString();
        this.blockMs.push(this.clock.nowMs());
        try {
          const refusal = this.refuse(line);
          if (refusal !== undefined) throw refusal;
          applyBlock(this.ledger, parseBlock(line));
          this.lines.push(line);
        } catch (error) {
          if (!(error instanceof BlockError)) throw error;
          block.refused?.(error);
        }
      }
    }
  }

  /** Lets time pass; the exchange makes a block every second. */
  async advance(ms: number): Promise<void> {
    for (let passedMs = 0; passedMs < ms; passedMs += STEP_MS) {
      this.clock.advance(STEP_MS);
      if (this.hasBlocks && this.clock.nowMs() >= this.#blockAtMs) {
        this.#blockAtMs += BLOCK_MS;
        this.simulator.next(this.now);
      }
      for (let turn = 0; turn < 8; turn++) await nextTurn();
    }
  }

  /** What the exchange's clock shows. */
  get now(): number {
    return Math.max(this.truth.time + 1, START_TIME + this.clock.nowMs() - this.#startMs);
  }

  async until(isTrue: () => boolean, msMax = 20_000): Promise<void> {
    for (let ms = 0; ms < msMax && !isTrue(); ms += STEP_MS) await this.advance(STEP_MS);
    assert.ok(isTrue(), `not within ${msMax} ms; the log: ${this.log.join('\n')}`);
  }

  async readItem(
    item: FollowedItem,
    maxAgeMs = Number.POSITIVE_INFINITY,
    keyId = 'a key',
  ): Promise<ItemOutcome> {
    let outcome: ItemOutcome | undefined;
    void this.feed.readItem(item, maxAgeMs, keyId).then((result) => {
      outcome = result;
    });
    await this.until(() => outcome !== undefined);
    return outcome as unknown as ItemOutcome;
  }

  async start(): Promise<void> {
    await this.until(() => this.feed.status().isHealthy);
  }

  /** Applies events to the exchange itself, which makes no block of them by its own rules. */
  change(events: readonly unknown[]): void {
    const { height, time } = this.truth;
    const line = JSON.stringify({ height: height + 1, time, events });
    applyBlock(this.truth as State, parseBlock(line));
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#writing;
  }

  countAsked(type: string, user?: string): number {
    return this.asked.filter(
      ({ question }) => question.type === type && (user === undefined || question['user'] === user),
    ).length;
  }
}

function print({ type }: QuestionBody, exact: Json): Json {
  const printed = structuredClone(exact);
  if (type === 'clearinghouseState') printAccount(printed);
  return printed;
}

/** A followed exchange that trades only by what the test changes. */
export async function followStanding(
  t: TestContext,
  choice: ExchangeChoice = {},
): Promise<FollowedExchange> {
  const exchange = new FollowedExchange(choice);
  t.after(() => exchange.stop());
  exchange.hasBlocks = false;
  await exchange.start();
  return exchange;
}

function createExchange(): Simulator {
  const simulator = createSimulator({ seed: 'followed', accounts: 30, startTimeMs: START_TIME });
  while (!simulator.isSetUp) simulator.next(START_TIME);
  return simulator;
}

/** Users with at least so many open positions on the first dex. */
export function findTraders(state: StateView, positions = 2): Address[] {
  const traders: Address[] = [];
  for (let row = 1; row < state.addresses.table.rowCount; row++) {
    const account = state.addresses.table.get(row, FIRST_ACCOUNT);
    if (account === 0 || state.accounts.get(account, column.ACCOUNT_DEX) !== 0) continue;
    const { addresses } = state;
    const user = formatAddress(addresses.addressOf(row));
    const answer = JSON.parse(answerQuestion(state, { type: 'clearinghouseState', user }));
    if (answer.assetPositions.length >= positions) traders.push(addresses.addressOf(row));
  }
  return traders;
}

export function accountOf(user: Address, dex = ''): FollowedItem {
  return { kind: 'account', user: formatAddress(user), dex };
}
