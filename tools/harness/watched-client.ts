/**
 * A client that uses one connection, and checks that the heights on the connection never decrease.
 */

import { Agent, request } from 'node:http';
import type { Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { checkAnswer } from './answer-checks.ts';
import type { Answer } from './running.ts';

/**
 * A request is abandoned after this time, because a killed process may leave it without a response.
 */
const WAIT_MS_MAX = 20_000;

export interface WatchedClientOptions {
  readonly port: number;
  readonly secret: string;
  /** Called with a message if a height is below an earlier height on the same connection. */
  wentBack(message: string): void;
}

export class WatchedClient {
  readonly #options: WatchedClientOptions;
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 1 });
  readonly #heights = new WeakMap<Socket, number>();

  constructor(options: WatchedClientOptions) {
    this.#options = options;
  }

  ask(question: object): Promise<Answer> {
    const { port, secret } = this.#options;
    return new Promise((resolve, reject) => {
      const sent = request(
        {
          ...{ host: '127.0.0.1', port, path: `/${secret}/info`, method: 'POST' },
          ...{ agent: this.#agent, timeout: WAIT_MS_MAX },
          headers: { 'Content-Type': 'application/json' },
        },
        (response) => {
          const { headers, socket, statusCode: status = 0 } = response;
          this.#note(socket, headers['ledger-height']);
          text(response)
            .then((body) => {
              if (status === 200) checkAnswer((question as { type?: unknown }).type, body);
              resolve({ status, headers, body });
            })
            .catch(reject);
        },
      );
      sent.on('timeout', () => sent.destroy(new Error(`no answer in ${WAIT_MS_MAX} ms`)));
      sent.on('error', reject);
      sent.end(JSON.stringify(question));
    });
  }

  #note(socket: Socket, header: unknown): void {
    if (header === undefined) return;
    const height = Number(header);
    const last = this.#heights.get(socket) ?? 0;
    if (height < last) this.#options.wentBack(`height ${height} after ${last}`);
    this.#heights.set(socket, height);
  }

  close(): void {
    this.#agent.destroy();
  }
}
