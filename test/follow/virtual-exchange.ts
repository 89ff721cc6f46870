/** The stub exchange without sockets: questions and push in this process, on a virtual clock. */

import type { FollowPush } from '../../src/feed/follow/follow-subscriptions.ts';
import type { UpstreamSubscription } from '../../src/feed/follow/upstream/push-subscriptions.ts';
import { UpstreamError } from '../../src/feed/follow/upstream/upstream-error.ts';
import type { PostOutcome } from '../../src/feed/follow/upstream/upstream-http.ts';
import type { PushHandler } from '../../src/feed/follow/upstream/upstream-push.ts';
import { DialectAnswers, type Question } from './dialect-answers.ts';
import { type BlockNews, Exchange } from './exchange.ts';
import { PushMessages } from './push-messages.ts';
import { ServedWeight, weightOfType } from './served-weight.ts';
import type { VirtualClock } from './virtual-clock.ts';

const MINUTE_MS = 60_000;
/** A live exchange pushes marks all the time, also between blocks that trade. */
const MARKS_MS = 1_000;
/** From a request to its arrival, and from there to its response. */
const WAY_MS = 50;

export interface VirtualExchangeOptions {
  /** The ledger's file. */
  readonly file: string;
  readonly seed: string;
  readonly accounts: number;
  /** The exchange's time at the clock's 0. */
  readonly startTimeMs: number;
  readonly blockMs: number;
  /** Weight a minute; above it, questions are refused. */
  readonly limit: number;
  readonly clock: VirtualClock;
}

export class VirtualExchange {
  readonly weight = new ServedWeight(MINUTE_MS);
  /** Questions over the limit. */
  refused = 0;
  /** Users that trades have named, one by one. */
  traders = 0;
  /** Push stays open and says nothing. */
  isSilent = false;
  #isGone = false;
  readonly #options: VirtualExchangeOptions;
  readonly #exchange: Exchange;
  readonly #answers = new DialectAnswers({ unknownTypes: [] });
  readonly #subscribers = new Set<VirtualPush>();

  constructor(options: VirtualExchangeOptions) {
    const { clock, blockMs, ...rest } = options;
    const machine = { anchorMs: 0, speed: 1, lagMs: 0, isSimulated: true };
    this.#options = options;
    this.#exchange = new Exchange({ ...rest, ...machine }, () => clock.nowMs());
    clock.repeat(blockMs, () => this.#step());
    clock.repeat(MARKS_MS, () => this.#pushMarks());
  }

  get time(): number {
    return this.#exchange.state.time;
  }

  /** While it is gone nobody can connect, and its connections are lost. */
  setGone(isGone: boolean): void {
    this.#isGone = isGone;
    for (const subscriber of this.#subscribers) {
      if (isGone) subscriber.lose();
      else subscriber.open();
    }
  }

  #step(): void {
    const news = this.#exchange.step();
    this.traders += news.trades.length * 2;
    for (const subscriber of this.#subscribers) subscriber.publish(news);
  }

  #pushMarks(): void {
    const { clock, startTimeMs } = this.#options;
    for (const subscriber of this.#subscribers) subscriber.tick(startTimeMs + clock.nowMs());
  }

  async post(body: string): Promise<PostOutcome> {
    const { clock, limit } = this.#options;
    await clock.sleep(WAY_MS);
    if (this.#isGone) return UNREACHABLE;
    const question = JSON.parse(body) as Question;
    const weight = weightOfType(question.type);
    const isOver = this.weight.inWindow(clock.nowMs()) + weight > limit;
    this.weight.add(question.type, weight, clock.nowMs());
    if (isOver) this.refused++;
    const outcome = isOver ? respond(429, null) : this.#answer(question);
    await clock.sleep(WAY_MS);
    return outcome;
  }

  #answer(question: Question): PostOutcome {
    const reply = this.#answers.answer(this.#exchange.state, question);
    return reply.kind === 'answer' ? respond(200, reply.json) : respond(500, null);
  }

  createPush(handler: PushHandler): FollowPush {
    const messages = new PushMessages(this.#exchange, this.#answers);
    const push = new VirtualPush(handler, messages, {
      isSilent: () => this.isSilent,
      close: () => this.#subscribers.delete(push),
    });
    this.#subscribers.add(push);
    this.#options.clock.setTimer(WAY_MS, () => push.open());
    return push;
  }

  async close(): Promise<void> {
    this.#exchange.close();
  }
}

const UNREACHABLE: PostOutcome = {
  arrival: 'unsent',
  result: new UpstreamError('network', 'connect ECONNREFUSED'),
};

function respond(status: number, json: unknown): PostOutcome {
  const headers = { 'content-type': 'application/json' };
  const body = Buffer.from(JSON.stringify(json));
  return { arrival: 'arrived', result: { status, headers, body } };
}

interface PushHooks {
  isSilent(): boolean;
  close(): void;
}

class VirtualPush implements FollowPush {
  readonly #handler: PushHandler;
  readonly #messages: PushMessages;
  readonly #hooks: PushHooks;
  #isOpen = false;
  #wanted = new Map<string, UpstreamSubscription>();

  constructor(handler: PushHandler, messages: PushMessages, hooks: PushHooks) {
    this.#handler = handler;
    this.#messages = messages;
    this.#hooks = hooks;
  }

  open(): void {
    this.#isOpen = true;
    this.#handler.opened();
  }

  lose(): void {
    this.#isOpen = false;
    this.#wanted = new Map();
    this.#handler.lost('the exchange is gone');
  }

  close(): void {
    this.#hooks.close();
  }

  subscribe(wanted: readonly UpstreamSubscription[]): void {
    if (!this.#isOpen) return;
    const before = this.#wanted;
    this.#wanted = new Map(
      wanted.map((subscription) => [JSON.stringify(subscription), subscription]),
    );
    for (const [key, subscription] of this.#wanted) {
      if (!before.has(key)) this.#tell(this.#messages.first(subscription));
    }
  }

  publish(news: BlockNews): void {
    this.#messages.block(news);
    for (const subscription of [...this.#wanted.values()]) {
      this.#tell(this.#messages.next(subscription, news));
    }
  }

  tick(timeMs: number): void {
    this.#messages.tick(timeMs);
    for (const subscription of this.#wanted.values()) this.#tell(this.#messages.due(subscription));
  }

  #tell(message: { channel: string; data: unknown } | undefined): void {
    if (message === undefined || this.#hooks.isSilent()) return;
    this.#handler.message(message.channel, message.data);
  }
}
