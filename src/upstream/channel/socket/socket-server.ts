/**
 * The follower's side of the socket: a Unix socket in the ledger's folder. Only the user who runs
 * the follower may connect to it.
 */

import { chmodSync, renameSync, rmSync, statSync } from 'node:fs';
import { createServer, type Server, type Socket } from 'node:net';
import path from 'node:path';
import type { JsonObject } from '../../../events/fields.ts';
import { withShortPath } from '../../../ledger/embedded/socket-path.ts';
import { IN_FLIGHT_MAX } from '../channel-client.ts';
import {
  busy,
  type FollowerRequest,
  handleRequest,
  readInterests,
  readRequest,
  type SentOutcome,
  splitOutcome,
} from '../channel-messages.ts';
import type { FollowerHandler, FollowerServer } from '../follower-client.ts';
import { readSocketMessages, SOCKET_NAME, writeSocketMessage } from './socket-messages.ts';

/** The interval at which the follower sends its report to all clients. */
const REPORT_MS = 1_000;
/**
 * The maximum length of a line from a client, in bytes. A line is a request or a batch of interest.
 */
const LINE_BYTES_MAX = 1 << 20;
/** The maximum number of sent bytes that a client has not read yet. */
const UNREAD_BYTES_MAX = 1 << 26;

/** Listens in the folder of the ledger. The socket of an earlier follower is replaced. */
export async function listenOnFollowerSocket(
  folder: string,
  handler: FollowerHandler,
): Promise<FollowerServer> {
  const clients = new Set<Socket>();
  const server = createServer((socket) => serveClient(socket, handler, clients));
  const file = path.join(folder, SOCKET_NAME);
  const draft = `${SOCKET_NAME}.draft`;
  rmSync(path.join(folder, draft), { force: true });
  await withShortPath(folder, (short) => listenAt(server, `${short}/${draft}`));
  chmodSync(path.join(folder, draft), 0o600);
  // The socket is renamed last, so that a client can only find a socket that accepts connections.
  renameSync(path.join(folder, draft), file);
  const { ino } = statSync(file);
  const timer = setInterval(() => report(handler, clients), REPORT_MS);
  timer.unref();
  return {
    async close() {
      clearInterval(timer);
      for (const socket of clients) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
      // Do not remove the socket of a follower that has replaced this follower.
      if (statSync(file, { throwIfNoEntry: false })?.ino === ino) rmSync(file, { force: true });
    },
  };
}

function listenAt(server: Server, socketPath: string): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    // Without `exclusive`, a worker of a cluster would listen through its primary process.
    server.listen({ path: socketPath, exclusive: true }, () => {
      server.off('error', reject);
      resolve();
    });
  });
}

function serveClient(socket: Socket, handler: FollowerHandler, clients: Set<Socket>): void {
  const requests = new ClientRequests(socket, handler);
  clients.add(socket);
  // The client notices that the connection is closed, and connects again.
  socket.on('error', () => socket.destroy());
  socket.on('close', () => clients.delete(socket));
  readSocketMessages(socket, {
    lineBytesMax: LINE_BYTES_MAX,
    take: (message) => requests.take(message),
  });
  writeSocketMessage(socket, { status: handler.status() });
}

function report(handler: FollowerHandler, clients: ReadonlySet<Socket>): void {
  if (clients.size === 0) return;
  const message = { status: handler.status() };
  for (const socket of clients) {
    writeSocketMessage(socket, message);
    if (socket.writableLength > UNREAD_BYTES_MAX) socket.destroy();
  }
}

class ClientRequests {
  readonly #socket: Socket;
  readonly #handler: FollowerHandler;
  #inFlight = 0;
  /**
   * Resolves when the last long answer is sent. Long answers are sent one after the other, so that
   * short messages can be sent between them.
   */
  #lastSent: Promise<void> = Promise.resolve();
  #waitingBytes = 0;

  constructor(socket: Socket, handler: FollowerHandler) {
    this.#socket = socket;
    this.#handler = handler;
  }

  take(message: JsonObject): void {
    const request = readRequest(message);
    if (request !== undefined) void this.#answer(message['id'], request);
    else this.#handler.noteInterest(readInterests(message));
  }

  async #answer(id: unknown, request: FollowerRequest): Promise<void> {
    if (this.#inFlight >= IN_FLIGHT_MAX) {
      this.#send(id, { outcome: busy('too many questions are in flight') });
      return;
    }
    this.#inFlight++;
    const sent = splitOutcome(await handleRequest(this.#handler, request));
    if (sent.bytes === undefined) this.#send(id, sent);
    else await this.#sendInTurn(id, sent, sent.bytes.length);
    this.#inFlight--;
    if (this.#socket.writableLength > UNREAD_BYTES_MAX) this.#socket.destroy();
  }

  #send(id: unknown, { outcome, bytes }: SentOutcome): void {
    writeSocketMessage(this.#socket, { id, outcome }, bytes);
  }

  /**
   * Sends a long answer after the client has read the earlier answers: a slow client must not lose
   * its connection because of answers that it asked for.
   */
  async #sendInTurn(id: unknown, sent: SentOutcome, length: number): Promise<void> {
    if (this.#waitingBytes + length > UNREAD_BYTES_MAX) {
      this.#send(id, { outcome: busy(`answers of ${this.#waitingBytes} bytes are not read yet`) });
      return;
    }
    this.#waitingBytes += length;
    const before = this.#lastSent;
    this.#lastSent = before.then(async () => {
      await untilRead(this.#socket);
      this.#send(id, sent);
      this.#waitingBytes -= length;
    });
    await this.#lastSent;
  }
}

/** Resolves when the client has read most of the written bytes, or has disconnected. */
async function untilRead(socket: Socket): Promise<void> {
  if (!socket.writableNeedDrain) return;
  await new Promise<void>((resolve) => {
    const settle = () => {
      socket.off('drain', settle);
      socket.off('close', settle);
      resolve();
    };
    socket.on('drain', settle);
    socket.on('close', settle);
  });
}
