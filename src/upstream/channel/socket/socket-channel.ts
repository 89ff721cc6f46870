/**
 * The client's side of the socket. It connects at its first use, and again each time the connection
 * is lost. After a new connection, unanswered requests are sent again: it does no harm if the
 * follower receives a request twice.
 */

import { connect, type Socket } from 'node:net';
import type { JsonObject } from '../../../events/fields.ts';
import type { QuestionBody } from '../../../info/question.ts';
import { withShortPath } from '../../../ledger/embedded/socket-path.ts';
import {
  ABSENT_MS_MAX,
  type FollowerChannel,
  OUTCOME_MS_MAX,
  REACH_AGAIN_MS,
} from '../channel-client.ts';
import {
  busy,
  type FollowerRequest,
  itemRequest,
  readForwardOutcome,
  readItemOutcome,
} from '../channel-messages.ts';
import type {
  FollowedItem,
  FollowerBusy,
  FollowStatus,
  ForwardOutcome,
  Interest,
  ItemOutcome,
} from '../follower-client.ts';
import { StatusReport } from '../status-report.ts';
import { readSocketMessages, SOCKET_NAME, writeSocketMessage } from './socket-messages.ts';

/**
 * The maximum length of a line from the follower, in bytes. A line can contain an account that is
 * not recorded.
 */
const LINE_BYTES_MAX = 1 << 26;
/**
 * The maximum number of entries in one message. A line with this many entries is much shorter than
 * the maximum that the follower accepts.
 */
const INTERESTS_MAX = 1_000;
/**
 * If the follower has not read this number of bytes, no more interest is sent: clients ask for the
 * same items again later.
 */
const UNREAD_BYTES_MAX = 1 << 20;

const NO_FOLLOWER = busy('no follower is connected: it reads accounts from the exchange');
const NO_OUTCOME_IN_TIME = busy(`the follower gave no outcome within ${OUTCOME_MS_MAX} ms`);

/** An outcome whose form is not checked yet, and the bytes that followed the outcome, if any. */
interface ReceivedOutcome {
  readonly outcome: unknown;
  readonly bytes?: Buffer | undefined;
}

interface Pending {
  readonly request: FollowerRequest;
  settle(came: ReceivedOutcome): void;
}

export class SocketChannel implements FollowerChannel {
  readonly #folder: string;
  readonly #pending = new Map<number, Pending>();
  readonly #report = new StatusReport();
  #socket: Socket | undefined;
  #isConnecting = false;
  #isClosed = false;
  #retry: NodeJS.Timeout | undefined;
  /**
   * The time since which no follower has listened; undefined while connected, and before the first
   * use.
   */
  #absentSinceMs: number | undefined;
  #idNext = 1;

  constructor(folder: string) {
    this.#folder = folder;
  }

  async readItem(item: FollowedItem, maxAgeMs: number, keyId: string): Promise<ItemOutcome> {
    return readItemOutcome((await this.#ask(itemRequest(item, maxAgeMs, keyId))).outcome);
  }

  async forward(forward: QuestionBody, keyId: string): Promise<ForwardOutcome> {
    const { outcome, bytes } = await this.#ask({ forward, keyId });
    return readForwardOutcome(outcome, bytes);
  }

  #ask(request: FollowerRequest): Promise<ReceivedOutcome> {
    this.#connect();
    if (this.#isClosed || this.#isAbsent) return Promise.resolve({ outcome: NO_FOLLOWER });
    const id = this.#idNext++;
    return new Promise((resolve) => {
      const timer = setTimeout(
        () => this.#settle(id, { outcome: NO_OUTCOME_IN_TIME }),
        OUTCOME_MS_MAX,
      );
      const settle = (came: ReceivedOutcome) => {
        clearTimeout(timer);
        resolve(came);
      };
      this.#pending.set(id, { request, settle });
      if (this.#socket !== undefined) writeSocketMessage(this.#socket, { id, ...request });
    });
  }

  /** Returns true if no follower has listened for longer than a restart takes. */
  get #isAbsent(): boolean {
    const sinceMs = this.#absentSinceMs;
    return sinceMs !== undefined && performance.now() - sinceMs > ABSENT_MS_MAX;
  }

  #settle(id: unknown, came: ReceivedOutcome): void {
    if (typeof id !== 'number') return;
    const pending = this.#pending.get(id);
    this.#pending.delete(id);
    pending?.settle(came);
  }

  #settleAll(outcome: FollowerBusy): void {
    for (const id of this.#pending.keys()) this.#settle(id, { outcome });
  }

  sendInterest(interests: readonly Interest[]): void {
    this.#connect();
    if (this.#socket === undefined) return;
    for (let start = 0; start < interests.length; start += INTERESTS_MAX) {
      if (this.#socket.writableLength > UNREAD_BYTES_MAX) return;
      const interest = interests.slice(start, start + INTERESTS_MAX);
      writeSocketMessage(this.#socket, { interest });
    }
  }

  status(): FollowStatus | undefined {
    this.#connect();
    return this.#report.read();
  }

  #connect(): void {
    if (this.#socket !== undefined || this.#isConnecting || this.#isClosed) return;
    if (this.#retry !== undefined) return;
    this.#absentSinceMs ??= performance.now();
    this.#isConnecting = true;
    connectTo(this.#folder)
      .then((socket) => this.#take(socket))
      .catch(() => this.#retryLater())
      .finally(() => {
        this.#isConnecting = false;
      });
  }

  #take(socket: Socket): void {
    if (this.#isClosed) {
      socket.destroy();
      return;
    }
    this.#socket = socket;
    this.#absentSinceMs = undefined;
    socket.unref();
    socket.on('error', () => socket.destroy());
    socket.on('close', () => {
      this.#socket = undefined;
      this.#absentSinceMs = performance.now();
      this.#retryLater();
    });
    readSocketMessages(socket, {
      lineBytesMax: LINE_BYTES_MAX,
      take: (message, bytes) => this.#takeMessage(message, bytes),
    });
    for (const [id, { request }] of this.#pending) writeSocketMessage(socket, { id, ...request });
  }

  #takeMessage(message: JsonObject, bytes: Buffer | undefined): void {
    const { id, outcome } = message;
    if (id !== undefined) this.#settle(id, { outcome, bytes });
    else this.#report.take(message);
  }

  #retryLater(): void {
    if (this.#isClosed) return;
    if (this.#isAbsent) this.#settleAll(NO_FOLLOWER);
    this.#retry = setTimeout(() => {
      this.#retry = undefined;
      this.#connect();
    }, REACH_AGAIN_MS);
    this.#retry.unref();
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#retry);
    // `end` still sends the messages that were written before.
    this.#socket?.end();
    this.#settleAll(NO_FOLLOWER);
  }
}

function connectTo(folder: string): Promise<Socket> {
  return withShortPath(
    folder,
    (short) =>
      new Promise<Socket>((resolve, reject) => {
        const socket = connect(`${short}/${SOCKET_NAME}`, () => {
          socket.off('error', reject);
          resolve(socket);
        });
        socket.once('error', reject);
      }),
  );
}
