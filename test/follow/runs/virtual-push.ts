/** The stub's push without sockets: connections of this process, on a virtual clock. */

import type { RawData } from 'ws';
import type { PushSocket } from '../../../src/upstream/client/push/push-socket.ts';
import type { UpstreamSubscription } from '../../../src/upstream/client/push/upstream-subscription.ts';
import type { Json } from '../../../tools/stub-exchange/dialect-answers.ts';
import type { BlockNews } from '../../../tools/stub-exchange/exchange.ts';
import type { PushMessages } from '../../../tools/stub-exchange/push-messages.ts';
import type { VirtualClock } from '../virtual-clock.ts';

const CLOSED_ABNORMALLY = 1006;

type Listener = (...values: never[]) => void;

/** One connection, as the client's side sees it. */
class VirtualSocket implements PushSocket {
  readonly #server: VirtualPushServer;
  readonly #listeners = new Map<string, Listener>();
  readonly subscriptions = new Map<string, UpstreamSubscription>();
  /** Nothing comes any more, and nothing says so. */
  isSilent = false;
  isEnded = false;

  constructor(server: VirtualPushServer) {
    this.#server = server;
  }

  on(event: string, listener: Listener): void {
    this.#listeners.set(event, listener);
  }

  emit(event: string, ...values: unknown[]): void {
    if (!this.isEnded) this.#listeners.get(event)?.(...(values as never[]));
  }

  push(message: Json | undefined): void {
    if (message === undefined || this.isSilent) return;
    const data = Buffer.from(JSON.stringify(message));
    this.#server.later(() => this.emit('message', data as RawData, false));
  }

  send(text: string): void {
    this.#server.later(() => this.#server.receive(this, JSON.parse(text)));
  }

  terminate(): void {
    this.#server.later(() => this.end());
  }

  end(): void {
    this.emit('close', CLOSED_ABNORMALLY, Buffer.alloc(0));
    this.isEnded = true;
    this.#server.forget(this);
  }
}

export interface VirtualPushOptions {
  readonly clock: VirtualClock;
  readonly messages: PushMessages;
  /** From one side to the other, in milliseconds. */
  readonly wayMs: number;
}

export class VirtualPushServer {
  readonly #options: VirtualPushOptions;
  readonly #sockets = new Set<VirtualSocket>();
  /** Nothing is sent to anyone. */
  isSilent = false;
  isGone = false;
  /** How many of the next subscriptions to trades are refused. */
  refusals = 0;

  constructor(options: VirtualPushOptions) {
    this.#options = options;
  }

  later(callback: () => void): void {
    const { clock, wayMs } = this.#options;
    clock.setTimer(wayMs, callback);
  }

  open(): PushSocket {
    const socket = new VirtualSocket(this);
    this.later(() => this.#accept(socket));
    return socket;
  }

  #accept(socket: VirtualSocket): void {
    if (this.isGone) {
      this.later(() => socket.end());
      return;
    }
    this.#sockets.add(socket);
    this.later(() => socket.emit('open'));
  }

  forget(socket: VirtualSocket): void {
    this.#sockets.delete(socket);
  }

  /** Ends all connections. */
  disconnect(): void {
    for (const socket of [...this.#sockets]) socket.end();
  }

  /** The connections of now fall silent; new ones do not. */
  silence(): void {
    for (const socket of this.#sockets) socket.isSilent = true;
  }

  receive(socket: VirtualSocket, { method, subscription }: Json): void {
    if (!this.#sockets.has(socket)) return;
    const key = JSON.stringify(subscription);
    if (method === 'ping') this.#tell(socket, { channel: 'pong' });
    else if (method === 'unsubscribe') socket.subscriptions.delete(key);
    else if (subscription.type === 'trades' && this.refusals > 0) {
      this.refusals--;
      this.#tell(socket, { channel: 'error', data: `Invalid subscription ${key}` });
    } else {
      socket.subscriptions.set(key, subscription);
      const data = { method: 'subscribe', subscription };
      this.#tell(socket, { channel: 'subscriptionResponse', data });
      this.#tell(socket, this.#options.messages.first(subscription));
    }
  }

  publish(news: BlockNews): void {
    const { messages } = this.#options;
    messages.block(news);
    this.#tellAll((subscription) => messages.next(subscription, news));
  }

  tick(timeMs: number): void {
    const { messages } = this.#options;
    messages.tick(timeMs);
    this.#tellAll((subscription) => messages.due(subscription));
  }

  #tellAll(make: (subscription: UpstreamSubscription) => Json | undefined): void {
    for (const socket of this.#sockets) {
      for (const subscription of socket.subscriptions.values()) {
        this.#tell(socket, make(subscription));
      }
    }
  }

  #tell(socket: VirtualSocket, message: Json | undefined): void {
    if (!this.isSilent) socket.push(message);
  }
}
