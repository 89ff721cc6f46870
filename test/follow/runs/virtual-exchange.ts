/** The stub exchange without sockets: questions and push in this process, on a virtual clock. */

import type { WireEvent } from '../../../src/events/event.ts';
import type { StateView } from '../../../src/state/state.ts';
import type { PushSocket } from '../../../src/upstream/client/push/push-socket.ts';
import { UpstreamError } from '../../../src/upstream/client/upstream-error.ts';
import type { PostOutcome } from '../../../src/upstream/client/upstream-http.ts';
import { DialectAnswers, type Question } from '../../../tools/stub-exchange/dialect-answers.ts';
import { type BlockNews, Exchange } from '../../../tools/stub-exchange/exchange.ts';
import { PushMessages } from '../../../tools/stub-exchange/push-messages.ts';
import { ServedWeight, weightOfType } from '../../../tools/stub-exchange/served-weight.ts';
import type { VirtualClock } from '../virtual-clock.ts';
import { VirtualPushServer } from './virtual-push.ts';

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
  /** How long after the hour its funding is booked. */
  readonly fundingLateMs?: number;
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
  readonly push: VirtualPushServer;
  #isGone = false;
  readonly #options: VirtualExchangeOptions;
  readonly #exchange: Exchange;
  readonly #answers = new DialectAnswers({ unknownTypes: [] });
  /** Called with each block. */
  published: (news: BlockNews) => void = () => undefined;

  constructor(options: VirtualExchangeOptions) {
    const { clock, blockMs, ...rest } = options;
    const machine = { anchorMs: 0, speed: 1, lagMs: 0, isSimulated: true };
    this.#options = options;
    this.#exchange = new Exchange({ ...rest, ...machine }, () => clock.nowMs());
    const messages = new PushMessages(this.#exchange, this.#answers);
    this.push = new VirtualPushServer({ clock, messages, wayMs: WAY_MS });
    clock.repeat(blockMs, () => this.#step());
    clock.repeat(MARKS_MS, () => this.#pushMarks());
  }

  get time(): number {
    return this.#exchange.state.time;
  }

  /** While it is gone nobody can connect, and its connections are lost. */
  setGone(isGone: boolean): void {
    this.#isGone = isGone;
    this.push.isGone = isGone;
    if (isGone) this.push.disconnect();
  }

  /** These events come first in the next block. */
  add(events: readonly WireEvent[]): void {
    this.#exchange.add(events);
  }

  get state(): StateView {
    return this.#exchange.state;
  }

  #step(): void {
    const news = this.#exchange.step();
    this.traders += news.trades.length * 2;
    this.push.publish(news);
    this.published(news);
  }

  #pushMarks(): void {
    const { clock, startTimeMs } = this.#options;
    this.push.tick(startTimeMs + clock.nowMs());
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

  openSocket(): PushSocket {
    return this.push.open();
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
