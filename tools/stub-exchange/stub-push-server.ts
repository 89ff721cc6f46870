/**
 * The stub's WebSocket server: subscriptions with the limits and messages of the dialect, and the
 * faults of push.
 */

import type { IncomingMessage, Server } from 'node:http';
import type { Duplex } from 'node:stream';
import { type RawData, type WebSocket, WebSocketServer } from 'ws';
import type { Random } from '../../src/simulator/random.ts';
import { breakFrame } from './broken-frames.ts';
import type { DialectAnswers, Json, Question } from './dialect-answers.ts';
import type { BlockNews, Exchange } from './exchange.ts';
import type { Faults } from './faults.ts';
import { PushMessages, USER_TYPES } from './push-messages.ts';

export interface PushLimits {
  readonly connections: number;
  readonly newConnectionsPerMinute: number;
  readonly users: number;
  readonly subscriptions: number;
  readonly messagesPerMinute: number;
}

export interface PushServerOptions {
  readonly exchange: Exchange;
  readonly answers: DialectAnswers;
  readonly faults: Faults;
  readonly random: Random;
  readonly limits: PushLimits;
  /** The duration of a minute of the exchange, in milliseconds of this machine. */
  readonly minuteMs: number;
  /** The types of subscription that this server knows. */
  readonly types: readonly string[];
}

const DROPPED_SHARE = 0.3;
const REPLAYED_SHARE = 0.3;
/** The maximum number of messages that are stored to be sent again. */
const KEPT_MAX = 50;
/**
 * After a subscription to an unknown coin, the socket is closed within this time of this machine.
 */
const UNKNOWN_COIN_MS_MAX = 155;

interface Subscriber {
  readonly socket: WebSocket;
  readonly subscriptions: Map<string, Question>;
  /** Ends the connection if nothing is sent for a minute. */
  readonly idle: NodeJS.Timeout;
}

const NOT_PARSED = 'Error parsing JSON into valid websocket request';

export class StubPushServer {
  readonly #options: PushServerOptions;
  readonly #server = new WebSocketServer({ noServer: true });
  readonly #subscribers = new Set<Subscriber>();
  readonly #messages: PushMessages;
  /** Stored trades and states. They contain a time, so a client can notice that they are old. */
  readonly #kept: string[] = [];
  #receivedMs: number[] = [];
  #openedMs: number[] = [];
  /** The largest numbers at one time, and the texts of the refusals that were sent. */
  readonly report = {
    connectionsMax: 0,
    usersMax: 0,
    subscriptionsMax: 0,
    messagesMax: 0,
    sent: 0,
  };
  readonly refusals: Record<string, number> = {};

  constructor(options: PushServerOptions) {
    this.#options = options;
    this.#messages = new PushMessages(options.exchange, options.answers);
  }

  attach(server: Server): void {
    server.on('upgrade', (request, socket, head) => this.#upgrade(request, socket, head));
  }

  #upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void {
    const isKnown = new URL(request.url ?? '/', 'http://stub').pathname.endsWith('/ws');
    const isThere = isKnown && this.#options.types.length > 0;
    if (!isThere || this.#isFull()) {
      socket.end(`HTTP/1.1 ${isThere ? 429 : 404} Refused\r\n\r\n`);
      return;
    }
    this.#openedMs.push(performance.now());
    this.#server.handleUpgrade(request, socket, head, (opened) => this.#open(opened));
  }

  #isFull(): boolean {
    const { connections, newConnectionsPerMinute } = this.#options.limits;
    this.#openedMs = this.#inLastMinute(this.#openedMs);
    return (
      this.#subscribers.size >= connections || this.#openedMs.length >= newConnectionsPerMinute
    );
  }

  #inLastMinute(times: readonly number[]): number[] {
    const sinceMs = performance.now() - this.#options.minuteMs;
    return times.filter((atMs) => atMs > sinceMs);
  }

  #open(socket: WebSocket): void {
    const idle = setInterval(() => {
      if (!this.#options.faults.has('silent')) socket.close();
    }, this.#options.minuteMs);
    const subscriber = { socket, subscriptions: new Map<string, Question>(), idle };
    this.#subscribers.add(subscriber);
    this.#noteMost();
    socket.on('error', () => undefined);
    socket.on('close', () => {
      clearInterval(idle);
      this.#subscribers.delete(subscriber);
    });
    socket.on('message', (data) => this.#receive(subscriber, data));
  }

  #receive(subscriber: Subscriber, data: RawData): void {
    this.#receivedMs = [...this.#inLastMinute(this.#receivedMs), performance.now()];
    this.report.messagesMax = Math.max(this.report.messagesMax, this.#receivedMs.length);
    if (this.#receivedMs.length > this.#options.limits.messagesPerMinute) {
      const limit = this.#options.limits.messagesPerMinute;
      this.#refuse(subscriber, `Cannot send more than ${limit} messages per minute.`);
      return;
    }
    this.#obey(subscriber, parseMessage(data));
  }

  #obey(subscriber: Subscriber, message: Json): void {
    const { method, subscription } = message ?? {};
    if (method === 'ping') this.#send(subscriber, { channel: 'pong' });
    else if (method === 'subscribe') this.#subscribe(subscriber, subscription);
    else if (method === 'unsubscribe') this.#unsubscribe(subscriber, subscription);
    else {
      const words = `${NOT_PARSED}: ${JSON.stringify(message ?? null)}`;
      this.#refuse(subscriber, words);
    }
  }

  #subscribe(subscriber: Subscriber, subscription: Question): void {
    const key = JSON.stringify(subscription);
    if (subscriber.subscriptions.has(key)) {
      this.#refuse(subscriber, `Already subscribed: ${key}`);
      return;
    }
    const fault = this.#findFault(subscription);
    if (fault !== undefined) {
      this.#refuse(subscriber, fault);
      return;
    }
    const closing = this.#findClosing(subscription);
    if (closing !== undefined) {
      this.#breakOff(subscriber, closing);
      return;
    }
    subscriber.subscriptions.set(key, subscription);
    this.#noteMost();
    const data = { method: 'subscribe', subscription };
    this.#send(subscriber, { channel: 'subscriptionResponse', data });
    const first = this.#messages.first(subscription);
    if (first !== undefined) this.#send(subscriber, first);
  }

  /** Returns why a subscription closes the connection; returns undefined if it does not. */
  #findClosing({ coin }: Question): string | undefined {
    const { answers, exchange, faults } = this.#options;
    const { state } = exchange;
    if (coin === undefined) return undefined;
    if (!answers.markets.hasCoin(state, String(coin))) return 'unknown coin';
    const isClosing = faults.has('closingOnCoin') && coin === state.markets.markets[0].coin;
    return isClosing ? 'listed coin' : undefined;
  }

  /** Closes the socket without a message, which also ends all its other subscriptions. */
  #breakOff({ socket }: Subscriber, reason: string): void {
    this.refusals[reason] = (this.refusals[reason] ?? 0) + 1;
    const delayMs = this.#options.random.between(0, UNKNOWN_COIN_MS_MAX);
    setTimeout(() => socket.terminate(), delayMs);
  }

  #unsubscribe(subscriber: Subscriber, subscription: Question): void {
    const key = JSON.stringify(subscription);
    if (!subscriber.subscriptions.delete(key)) {
      this.#refuse(subscriber, `Already unsubscribed: ${key}`);
      return;
    }
    const data = { method: 'unsubscribe', subscription };
    this.#send(subscriber, { channel: 'subscriptionResponse', data });
  }

  #findFault(subscription: Question): string | undefined {
    const { types, limits } = this.#options;
    if (!types.includes(subscription?.type)) {
      return `Invalid subscription ${JSON.stringify(subscription)}`;
    }
    if (this.#all().length >= limits.subscriptions) {
      return `Cannot subscribe to more than ${limits.subscriptions} channels.`;
    }
    const users = new Set([...this.#users(), ...usersOf([subscription])]);
    if (users.size > limits.users) return `Cannot track more than ${limits.users} total users.`;
    return undefined;
  }

  #all(): Question[] {
    return [...this.#subscribers].flatMap(({ subscriptions }) => [...subscriptions.values()]);
  }

  #users(): Set<string> {
    return new Set(usersOf(this.#all()));
  }

  #noteMost(): void {
    const { report } = this;
    report.connectionsMax = Math.max(report.connectionsMax, this.#subscribers.size);
    report.subscriptionsMax = Math.max(report.subscriptionsMax, this.#all().length);
    report.usersMax = Math.max(report.usersMax, this.#users().size);
  }

  #refuse(subscriber: Subscriber, words: string): void {
    const kind = words.split(':')[0];
    this.refusals[kind] = (this.refusals[kind] ?? 0) + 1;
    this.#send(subscriber, { channel: 'error', data: words });
  }

  #send({ socket, idle }: Subscriber, message: Json): void {
    if (this.#options.faults.has('silent')) return;
    idle.refresh();
    this.report.sent++;
    socket.send(JSON.stringify(message));
  }

  /** Sends the content of a block to the subscribers. */
  publish(news: BlockNews): void {
    this.#messages.block(news);
    for (const subscriber of this.#subscribers) {
      for (const subscription of subscriber.subscriptions.values()) {
        const message = this.#messages.next(subscription, news);
        if (message !== undefined) this.#push(subscriber, message);
      }
    }
  }

  #push(subscriber: Subscriber, message: Json): void {
    const { faults, random } = this.#options;
    if (faults.has('dropping') && random.chance(DROPPED_SHARE)) {
      faults.count('dropping');
      return;
    }
    const isBroken = message.channel === 'fastAssetCtxs' && faults.has('brokenFrames');
    if (isBroken) faults.count('brokenFrames');
    this.#send(subscriber, isBroken ? breakFrame(message, random) : message);
    if (!faults.has('repeating')) return;
    faults.count('repeating');
    this.#send(subscriber, message);
    this.#replay(subscriber, message);
  }

  #replay(subscriber: Subscriber, message: Json): void {
    const { random } = this.#options;
    const hasTime = message.channel === 'trades' || USER_TYPES.includes(message.channel);
    if (!hasTime) return;
    if (this.#kept.length > 0 && random.chance(REPLAYED_SHARE)) {
      this.#send(subscriber, JSON.parse(random.pick(this.#kept)));
    }
    this.#kept.push(JSON.stringify(message));
    if (this.#kept.length > KEPT_MAX) this.#kept.shift();
  }

  /** Ends every connection, half of them without a close frame. */
  disconnect(): void {
    for (const { socket } of this.#subscribers) {
      if (this.#options.random.chance(0.5)) socket.terminate();
      else socket.close(1001, 'Inactive');
    }
  }

  close(): void {
    for (const { socket } of this.#subscribers) socket.terminate();
    this.#server.close();
  }
}

function parseMessage(data: RawData): Json {
  try {
    return JSON.parse(data.toString());
  } catch {
    return undefined;
  }
}

function usersOf(subscriptions: readonly Question[]): string[] {
  return subscriptions
    .filter(({ type }) => USER_TYPES.includes(type))
    .map(({ user }) => String(user).toLowerCase());
}
