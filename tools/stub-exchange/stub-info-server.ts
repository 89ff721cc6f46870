/** The stub's `POST /info`: the dialect's answers, its limits and refusals, and the faults. */

import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { formatAddress } from '../../src/exact/address.ts';
import type { Random } from '../../src/simulator/random.ts';
import { FIRST_ACCOUNT } from '../../src/state/addresses.ts';
import type { StateView } from '../../src/state/state.ts';
import type { DialectAnswers, DialectReply, Question } from './dialect-answers.ts';
import type { Exchange } from './exchange.ts';
import type { AnswerFault, Faults } from './faults.ts';
import type { ServedAnswers } from './served-answers.ts';
import { type ServedWeight, weightOfType } from './served-weight.ts';
import { contradict, misshape } from './wrong-answers.ts';

const NOT_UNDERSTOOD = 'Failed to deserialize the JSON body into the target type';
/** The maximum delay of a slow answer, in the exchange's time. */
const SLOW_MS_MAX = 6_000;
/**
 * A request that hangs is dropped after this time, so that the number of such requests stays
 * limited.
 */
const HANG_MS = 30_000;
const HUGE_CHUNK = Buffer.alloc(64 * 1024, ' ');
const HUGE_BYTES = 64 << 20;

export interface InfoServerOptions {
  readonly exchange: Exchange;
  readonly answers: DialectAnswers;
  readonly faults: Faults;
  readonly random: Random;
  readonly served: ServedAnswers;
  /** The maximum weight in 60 s; 0 for no limit. */
  readonly limit: number;
  /** The exchange's milliseconds per millisecond of this machine. */
  readonly speed: number;
}

interface HttpReply {
  readonly status: number;
  readonly type: string;
  readonly body: string;
}

const json = (status: number, body: string) => ({ status, type: 'application/json', body });
const plain = (status: number, body: string) => ({
  status,
  type: 'text/plain; charset=utf-8',
  body,
});

/** The faults with which a request still gets a right answer. */
const RIGHT: readonly (AnswerFault | undefined)[] = [undefined, 'slow', 'stalled'];

/** The faults whose reply does not depend on the question. */
const FIXED_REPLIES: Partial<Record<AnswerFault, HttpReply>> = {
  tooMany: json(429, 'null'),
  failure: json(500, 'null'),
  refused: plain(422, NOT_UNDERSTOOD),
  notJson: json(200, '<html><body>Service unavailable</body></html>'),
};

export class StubInfoServer {
  readonly #options: InfoServerOptions;
  readonly server: Server;
  readonly #sockets = new Set<Socket>();
  /** The questions whose last answer was about another account. */
  readonly #crossed = new Set<string>();
  #weight: ServedWeight;
  #port = 0;
  /** The number of requests over the limit, which were refused. */
  refused = 0;

  constructor(options: InfoServerOptions, weight: ServedWeight) {
    this.#options = options;
    this.#weight = weight;
    this.server = createServer((request, response) => {
      response.on('error', () => undefined);
      this.#handle(request, response).catch(() => response.destroy());
    });
    this.server.on('connection', (socket) => {
      this.#sockets.add(socket);
      socket.on('close', () => this.#sockets.delete(socket));
    });
  }

  /** Starts a new count of the weight. */
  count(weight: ServedWeight): void {
    this.#weight = weight;
    this.refused = 0;
  }

  async listen(port: number): Promise<number> {
    await new Promise<void>((resolve, reject) => {
      this.server.once('error', reject);
      this.server.listen(port, '127.0.0.1', resolve);
    });
    this.#port = (this.server.address() as AddressInfo).port;
    return this.#port;
  }

  /**
   * Makes the server unreachable: refuses connections and closes the open connections. If `isGone`
   * is false, listens again.
   */
  async setGone(isGone: boolean): Promise<void> {
    if (isGone === !this.server.listening) return;
    if (!isGone) {
      await this.listen(this.#port);
      return;
    }
    const closed = new Promise((resolve) => this.server.close(resolve));
    for (const socket of this.#sockets) socket.resetAndDestroy();
    await closed;
  }

  async #handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await text(request);
    const refusal = findRefusal(request, body);
    if (refusal !== undefined) {
      send(response, refusal);
      return;
    }
    const question = JSON.parse(body) as Question;
    const type = String(question.type);
    if (!this.#admit(type)) {
      send(response, json(429, 'null'));
      return;
    }
    const fault = this.#options.faults.draw(type);
    if (fault !== undefined) this.#options.faults.count(fault);
    await this.#respond(response, question, fault);
  }

  /** Counts the request; returns false if it exceeds the limit. */
  #admit(type: string): boolean {
    const { limit } = this.#options;
    const weight = this.#weight;
    const nowMs = performance.now();
    const isOver = limit > 0 && weight.inWindow(nowMs) + weightOfType(type) > limit;
    weight.add(type, weightOfType(type), nowMs);
    if (isOver) this.refused++;
    return !isOver;
  }

  async #respond(
    response: ServerResponse,
    question: Question,
    fault: AnswerFault | undefined,
  ): Promise<void> {
    if (fault === 'reset') this.#reset(response, question);
    else if (fault === 'huge') await sendHuge(response);
    else if (fault === 'hang') {
      await sleep(HANG_MS, undefined, { ref: false });
      response.destroy();
    } else {
      if (fault === 'slow')
        await sleep(this.#options.random.between(0.1, 1) * (SLOW_MS_MAX / this.#options.speed));
      send(response, this.#render(question, fault));
    }
  }

  /** Resets the connection, before the answer or after a part of it. */
  #reset(response: ServerResponse, question: Question): void {
    if (this.#options.random.chance(0.5)) {
      response.socket?.resetAndDestroy();
      return;
    }
    const { body } = renderReply(this.#replyTo(this.#options.exchange.state, question));
    response.writeHead(200, { 'Content-Type': 'application/json', 'Content-Length': body.length });
    response.write(body.slice(0, Math.floor(body.length / 2)), () =>
      response.socket?.resetAndDestroy(),
    );
  }

  #render(question: Question, fault: AnswerFault | undefined): HttpReply {
    const { exchange, random } = this.#options;
    const fixed = fault === undefined ? undefined : FIXED_REPLIES[fault];
    if (fixed !== undefined) return fixed;
    const asked = fault === 'otherAccount' ? this.#cross(question) : question;
    if (RIGHT.includes(fault)) this.#crossed.delete(JSON.stringify(question));
    const state = fault === 'stalled' ? exchange.stalledState : exchange.state;
    const rendered = renderReply(this.#spoil(question, this.#replyTo(state, asked), fault));
    if (fault !== 'truncated') return rendered;
    return { ...rendered, body: rendered.body.slice(0, random.below(rendered.body.length)) };
  }

  /** Returns the answer with its fault, and stores the answers about accounts. */
  #spoil(question: Question, reply: DialectReply, fault: AnswerFault | undefined): DialectReply {
    const { random, served } = this.#options;
    if (reply.kind !== 'answer') return reply;
    if (fault === 'wrongShape') return { ...reply, json: misshape(random, reply.json) };
    if (question.type !== 'clearinghouseState') return reply;
    const json = fault === 'contradiction' ? contradict(random, reply.json) : reply.json;
    served.add(question, JSON.stringify(json));
    return { ...reply, json };
  }

  #replyTo(state: StateView, question: Question): DialectReply {
    const { answers, served } = this.#options;
    const fixed = served.fixedAnswer(question);
    return fixed === undefined ? answers.answer(state, question) : { kind: 'answer', json: fixed };
  }

  /**
   * Returns the question about another user. If no right answer was sent since the last time,
   * returns the question unchanged.
   */
  #cross(question: Question): Question {
    const key = JSON.stringify(question);
    if (question['user'] === undefined || this.#crossed.has(key)) return question;
    this.#crossed.add(key);
    const { addresses } = this.#options.exchange.state;
    const rows = Array.from({ length: addresses.table.rowCount - 1 }, (_, index) => index + 1);
    const owners = rows.filter((row) => addresses.table.get(row, FIRST_ACCOUNT) !== 0);
    const user = formatAddress(addresses.addressOf(this.#options.random.pick(owners)));
    return { ...question, user };
  }

  close(): void {
    this.server.close();
    for (const socket of this.#sockets) socket.destroy();
  }
}

function findRefusal(request: IncomingMessage, body: string): HttpReply | undefined {
  const { pathname } = new URL(request.url ?? '/', 'http://stub');
  if (!pathname.endsWith('/info')) return plain(404, 'Not found');
  if (request.method !== 'POST') return plain(405, '');
  if (!String(request.headers['content-type']).startsWith('application/json')) {
    return plain(415, 'Expected request with `Content-Type: application/json`');
  }
  let question: unknown;
  try {
    question = JSON.parse(body);
  } catch {
    return plain(400, 'Failed to parse the request body as JSON');
  }
  const isObject = typeof question === 'object' && question !== null && 'type' in question;
  return isObject ? undefined : plain(422, NOT_UNDERSTOOD);
}

function renderReply(reply: DialectReply): HttpReply {
  if (reply.kind === 'answer') return json(200, JSON.stringify(reply.json));
  return reply.kind === 'unknown' ? json(500, 'null') : plain(422, NOT_UNDERSTOOD);
}

function send(response: ServerResponse, { status, type, body }: HttpReply): void {
  response.writeHead(status, { 'Content-Type': type, 'Content-Length': Buffer.byteLength(body) });
  response.end(body);
}

/** Sends a very long string, at the speed at which the client reads it. */
async function sendHuge(response: ServerResponse): Promise<void> {
  response.writeHead(200, { 'Content-Type': 'application/json' });
  response.write('["');
  for (let sent = 0; sent < HUGE_BYTES && !response.destroyed; sent += HUGE_CHUNK.length) {
    if (response.write(HUGE_CHUNK)) continue;
    await new Promise<void>((resolve) => {
      response.once('drain', resolve);
      response.once('close', resolve);
    });
  }
  response.end('"]');
}
