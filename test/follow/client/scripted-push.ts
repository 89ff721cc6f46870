/** A push server in this process that a test speaks for. */

import type { AddressInfo } from 'node:net';
import type { TestContext } from 'node:test';
import { type WebSocket, WebSocketServer } from 'ws';
import { type PushOptions, UpstreamPush } from '../../../src/upstream/client/push/upstream-push.ts';
import { readUpstreamAddress } from '../../../src/upstream/client/upstream-address.ts';
import { ManualClock } from '../manual-clock.ts';
import { untilSo } from './upstream-fixture.ts';

/** One connection, from the server's side. */
export class ServedPush {
  readonly #socket: WebSocket;
  /** Messages of the client, in order. */
  readonly received: Record<string, unknown>[] = [];
  isClosed = false;

  constructor(socket: WebSocket) {
    this.#socket = socket;
    socket.on('message', (data) => this.received.push(JSON.parse(data.toString())));
    socket.on('close', () => {
      this.isClosed = true;
    });
  }

  send(channel: string, data: unknown): void {
    this.#socket.send(JSON.stringify({ channel, data }));
  }

  sendRaw(data: string | Buffer): void {
    this.#socket.send(data);
  }

  acknowledge(subscription: unknown): void {
    this.send('subscriptionResponse', { method: 'subscribe', subscription });
  }

  close(code: number): void {
    this.#socket.close(code);
  }

  drop(): void {
    this.#socket.terminate();
  }

  /** The subscriptions that were asked for. */
  get subscribed(): unknown[] {
    return this.received
      .filter(({ method }) => method === 'subscribe')
      .map(({ subscription }) => subscription);
  }
}

export interface PushFixture {
  readonly clock: ManualClock;
  readonly push: UpstreamPush;
  readonly connections: ServedPush[];
  /** What the handler was told, in order. */
  readonly events: unknown[];
  /** The subscriptions that were confirmed. */
  readonly acknowledged: unknown[];
  readonly log: string[];
  /** The path of the last handshake. */
  readonly paths: string[];
  /** Waits for the connection with this index. */
  connection(index: number): Promise<ServedPush>;
}

export async function openPush(
  t: TestContext,
  options: Partial<PushOptions> = {},
): Promise<PushFixture> {
  const connections: ServedPush[] = [];
  const paths: string[] = [];
  const server = new WebSocketServer({ port: 0, host: '127.0.0.1' });
  server.on('connection', (socket, request) => {
    paths.push(request.url ?? '');
    connections.push(new ServedPush(socket));
  });
  await new Promise<void>((resolve) => void server.once('listening', resolve));
  const { port } = server.address() as AddressInfo;
  const events: unknown[] = [];
  const acknowledged: unknown[] = [];
  const log: string[] = [];
  const clock = new ManualClock();
  const push = new UpstreamPush({
    address: readUpstreamAddress(new URL(`http://127.0.0.1:${port}/secret-key-123/info`)),
    limits: { subscriptionsMax: 1000, usersMax: 10, messagesMax: 2000 },
    handler: {
      opened: () => events.push('opened'),
      message: (channel, data) => events.push([channel, data]),
      acknowledged: (subscription) => acknowledged.push(subscription),
      refused: (subscription, reason) => events.push(['refused', subscription, reason]),
      lost: (reason) => events.push(['lost', reason]),
    },
    log: { info: (message) => log.push(message), warn: (message) => log.push(message) },
    clock,
    random: () => 1,
    ...options,
  });
  t.after(() => {
    push.close();
    for (const client of server.clients) client.terminate();
    server.close();
  });
  return {
    clock,
    push,
    connections,
    events,
    acknowledged,
    log,
    paths,
    async connection(index) {
      await untilSo(`connection ${index}`, () => connections.length > index && push.isOpen);
      return connections[index];
    },
  };
}
