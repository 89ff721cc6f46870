/** The WebSocket on which the service pushes answers. It reconnects with exponential backoff. */

import type { Question } from '../figures/answers.ts';
import type { PushError } from './push-error.ts';
import { retryDelayMs } from './retry-delay.ts';

const RETRY = { firstMs: 2_000, maxMs: 60_000 };
const PING_MS = 15_000;
/**
 * The close code of a policy violation, such as a revoked key. HTTP requests will report the
 * reason.
 */
const POLICY_VIOLATION = 1008;

export interface PushMessage {
  readonly channel: string;
  readonly data?: unknown;
  /**
   * The error of a message on the channel `error`, as an object; `data` has the same error as text.
   */
  readonly error?: PushError;
}

export interface PushEvents {
  opened(): void;
  /**
   * Receives the text of a message before it is parsed. Returns true if the message is not to be
   * parsed now.
   */
  tookText?(text: string): boolean;
  received(message: PushMessage): void;
  closed(isRefused: boolean): void;
}

export class Push {
  readonly #events: PushEvents;
  /** Returns the query part of the connection's address. */
  readonly #terms: () => string;
  #key = '';
  #socket: WebSocket | undefined;
  #failures = 0;
  #retry: ReturnType<typeof setTimeout> | undefined;
  #ping: ReturnType<typeof setInterval> | undefined;
  #isHeard = false;

  constructor(events: PushEvents, terms: () => string) {
    this.#events = events;
    this.#terms = terms;
  }

  /** Connects with a key; an empty key only disconnects. */
  connect(key: string): void {
    this.#key = key;
    this.#failures = 0;
    this.#drop();
    if (key !== '') this.#open();
  }

  /** Stops reconnecting while the service cannot be reached. */
  pause(): void {
    clearTimeout(this.#retry);
  }

  /** Reconnects now, without the rest of the backoff. */
  kick(): void {
    if (this.#key !== '' && this.#socket === undefined) this.connect(this.#key);
  }

  send(method: 'subscribe' | 'unsubscribe', subscription: Question): void {
    this.#send({ method, subscription });
  }

  /** Sends a ping, to find out whether the connection still works. */
  probe(): void {
    this.#send({ method: 'ping' });
  }

  #send(message: object): void {
    if (this.#socket?.readyState === WebSocket.OPEN) this.#socket.send(JSON.stringify(message));
  }

  #open(): void {
    const scheme = location.protocol === 'https:' ? 'wss' : 'ws';
    const path = `/${encodeURIComponent(this.#key)}/ws${this.#terms()}`;
    const socket = new WebSocket(`${scheme}://${location.host}${path}`);
    this.#socket = socket;
    socket.onopen = () => {
      this.#failures = 0;
      this.#isHeard = true;
      this.#ping = setInterval(() => this.#checkAlive(), PING_MS);
      this.#events.opened();
    };
    socket.onmessage = ({ data }) => {
      this.#isHeard = true;
      const text = String(data);
      if (this.#events.tookText?.(text)) return;
      this.#events.received(JSON.parse(text) as PushMessage);
    };
    socket.onclose = ({ code }) => {
      if (socket === this.#socket) this.#lose(code === POLICY_VIOLATION);
    };
  }

  #lose(isRefused: boolean): void {
    this.#drop();
    this.#retry = setTimeout(() => this.#open(), retryDelayMs(++this.#failures, RETRY));
    this.#events.closed(isRefused);
  }

  /** A connection that does not answer a ping is dead, even if the browser reports it open. */
  #checkAlive(): void {
    if (this.#isHeard) this.probe();
    else this.#lose(false);
    this.#isHeard = false;
  }

  #drop(): void {
    clearTimeout(this.#retry);
    clearInterval(this.#ping);
    const socket = this.#socket;
    this.#socket = undefined;
    socket?.close();
  }
}
