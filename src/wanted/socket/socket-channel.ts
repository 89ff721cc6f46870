/**
 * A client's end of the port in a folder. It connects when it is first used, and again whenever the
 * connection is lost; what is unanswered is then sent again, since a want may be repeated.
 */

import { connect, type Socket } from 'node:net';
import { withShortPath } from '../../ledger/embedded/socket-path.ts';
import {
  ABSENT_MS_MAX,
  OUTCOME_MS_MAX,
  REACH_AGAIN_MS,
  type WantedChannel,
} from '../port-client.ts';
import { StatusReport } from '../status-report.ts';
import type {
  FollowStatus,
  ForwardedQuestion,
  ForwardOutcome,
  Interest,
  WantBusy,
  WantedItem,
  WantedOutcome,
} from '../wanted.ts';
import {
  busy,
  parseWantedMessage,
  readForwardOutcome,
  readWantedOutcome,
  type WantedRequest,
  wantRequest,
} from '../wanted-messages.ts';
import { readSocketLines, SOCKET_NAME, writeSocketLine } from './socket-lines.ts';

/** Maximum length of the follower's line: the answer to a forwarded question may be long. */
const LINE_BYTES_MAX = 1 << 26;
/** Entries per message, well within the follower's maximum length. */
const INTERESTS_MAX = 1_000;
/** A follower that reads nothing is sent no more interest: who asks for what is told again later. */
const UNREAD_BYTES_MAX = 1 << 20;

const NO_FOLLOWER = busy('no follower is connected: it reads accounts from the exchange');
const NO_OUTCOME_IN_TIME = busy(`the follower gave no outcome within ${OUTCOME_MS_MAX} ms`);

interface Pending {
  readonly request: WantedRequest;
  settle(outcome: unknown): void;
}

export class SocketChannel implements WantedChannel {
  readonly #folder: string;
  readonly #pending = new Map<number, Pending>();
  readonly #report = new StatusReport();
  #socket: Socket | undefined;
  #isConnecting = false;
  #isClosed = false;
  #retry: NodeJS.Timeout | undefined;
  /** Since when nobody has listened; undefined while connected, and before the first use. */
  #absentSinceMs: number | undefined;
  #idNext = 1;

  constructor(folder: string) {
    this.#folder = folder;
  }

  async want(item: WantedItem, maxAgeMs: number, keyId: string): Promise<WantedOutcome> {
    return readWantedOutcome(await this.#ask(wantRequest(item, maxAgeMs, keyId)));
  }

  async forward(forward: ForwardedQuestion, keyId: string): Promise<ForwardOutcome> {
    return readForwardOutcome(await this.#ask({ forward, keyId }));
  }

  #ask(request: WantedRequest): Promise<unknown> {
    this.#connect();
    if (this.#isClosed || this.#isAbsent) return Promise.resolve(NO_FOLLOWER);
    const id = this.#idNext++;
    return new Promise((resolve) => {
      const timer = setTimeout(() => this.#settle(id, NO_OUTCOME_IN_TIME), OUTCOME_MS_MAX);
      const settle = (outcome: unknown) => {
        clearTimeout(timer);
        resolve(outcome);
      };
      this.#pending.set(id, { request, settle });
      if (this.#socket !== undefined) writeSocketLine(this.#socket, { id, ...request });
    });
  }

  /** True if nobody has listened for longer than a restart takes. */
  get #isAbsent(): boolean {
    const sinceMs = this.#absentSinceMs;
    return sinceMs !== undefined && performance.now() - sinceMs > ABSENT_MS_MAX;
  }

  #settle(id: unknown, outcome: unknown): void {
    if (typeof id !== 'number') return;
    const pending = this.#pending.get(id);
    this.#pending.delete(id);
    pending?.settle(outcome);
  }

  #settleAll(outcome: WantBusy): void {
    for (const id of this.#pending.keys()) this.#settle(id, outcome);
  }

  sendInterest(interests: readonly Interest[]): void {
    this.#connect();
    if (this.#socket === undefined) return;
    for (let start = 0; start < interests.length; start += INTERESTS_MAX) {
      if (this.#socket.writableLength > UNREAD_BYTES_MAX) return;
      const interest = interests.slice(start, start + INTERESTS_MAX);
      writeSocketLine(this.#socket, { interest });
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
    readSocketLines(socket, { bytesMax: LINE_BYTES_MAX, take: (line) => this.#takeLine(line) });
    for (const [id, { request }] of this.#pending) writeSocketLine(socket, { id, ...request });
  }

  #takeLine(line: string): void {
    const message = parseWantedMessage(line) as { id?: unknown; outcome?: unknown } | undefined;
    if (message?.id !== undefined) this.#settle(message.id, message.outcome);
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
    // What was written last is still sent.
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
