/**
 * Push: WebSocket connections on which clients get states as they change. Every valid key may connect,
 * has limits on its connections and subscriptions, and loses them when it is revoked or expires.
 */

import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import type { Logger } from 'pino';
import { type RawData, type ServerOptions, WebSocketServer } from 'ws';
import { type Admission, NO_KEY, UNKNOWN_KEY } from '../../access/admission.ts';
import { hashSecret } from '../../access/keys.ts';
import type { Settings } from '../../config/settings.ts';
import { RequestError } from '../../info/request-error.ts';
import type { LiveState } from '../../replica/live-state.ts';
import { STOPPING } from '../answering/abandonment.ts';
import { describeFailure } from '../answering/answer-failure.ts';
import type { Answers } from '../answering/answers.ts';
import { BoundedLog } from '../answering/bounded-log.ts';
import type { PushCounters } from '../answering/counters.ts';
import { queryOf } from '../message/router.ts';
import {
  GOING_AWAY,
  INTERNAL_ERROR,
  POLICY_VIOLATION,
  type PushClient,
  PushConnection,
  type PushContext,
  TRY_AGAIN_LATER,
} from './connection.ts';
import { readConnectionTerms } from './connection-terms.ts';
import { FrameWriter, WINDOW_BITS } from './frame-writer.ts';
import { PushSchedule } from './schedule.ts';
import { TopicReads } from './topic-reads.ts';
import { Topics } from './topics.ts';

/** The settings of push alone. */
export const PUSH_SETTINGS = [
  'pushInterval',
  'pushConnectionsMax',
  'pushSubscriptionsMax',
  'pushBacklogMax',
  'pushStallTimeout',
] as const;
type PushSettingName =
  | (typeof PUSH_SETTINGS)[number]
  | 'bodyBytesMax'
  | 'idleTimeout'
  | 'requestTimeout';

export interface PushParts {
  readonly live: LiveState;
  readonly answers: Answers;
  readonly admission: Admission;
  readonly counters: PushCounters;
  readonly log: Logger;
  readonly settings: Settings<PushSettingName>;
}

/** How long subscriptions are marked after a block before requests get their turn. */
const MARKING_MS = 2;
/** How often it is checked whether keys have changed: then connections are inspected. */
const KEYS_CHECK_MS = 50;
/** How often connections are inspected for missed deadlines and expired keys. */
const INSPECTION_MS = 250;
/** Pings per idle timeout. */
const PINGS_PER_TIMEOUT = 3;
/** Pings per stall timeout, while something is sent. */
const PINGS_PER_STALL = 4;
const RETRY_AFTER_SECONDS = 1;
/** How long a client may take to answer the close frame when the service stops. */
const GOODBYE_MS = 500;
/** The same while the service is running. */
const CLOSE_MS = 2000;
/** Maximum number of fragments of a message: clients send whole ones, a proxy may split them. */
const FRAGMENTS_MAX = 64;
/** Minimum average size of the reads of one message: each buffered read costs memory. */
const READ_BYTES_MIN = 64;

/** Each message by itself: what earlier ones leave behind would take 300 KB of every connection. */
const COMPRESSION = {
  serverNoContextTakeover: true,
  clientNoContextTakeover: true,
  serverMaxWindowBits: WINDOW_BITS,
};

interface Usage {
  connections: number;
  subscriptions: number;
}

/** A handshake has no body: its bytes would be read as frames. */
function findBodyFault({ headers }: IncomingMessage): RequestError | undefined {
  const length = Number(headers['content-length'] ?? 0);
  const isChunked = headers['transfer-encoding'] !== undefined;
  if (length === 0 && !isChunked) return undefined;
  const got = isChunked ? 'a chunked one' : `${length} bytes`;
  const message = `body: got ${got}, expected none with a WebSocket handshake`;
  return new RequestError('malformed_request', message, 'body');
}

/** Some clients can inflate only what was compressed with a window smaller than ours. */
function wantsSmallerWindow({ headers }: IncomingMessage): boolean {
  const offers = headers['sec-websocket-extensions'] ?? '';
  const windows = offers.matchAll(/server_max_window_bits\s*=\s*"?([0-9]+)/gi);
  return [...windows].some(([, bits]) => Number(bits) < WINDOW_BITS);
}

/** The types of ws do not have its `closeTimeout` yet. */
function createOptions({
  bodyBytesMax,
}: PushParts['settings']): ServerOptions & { closeTimeout: number } {
  return {
    noServer: true,
    clientTracking: false,
    maxPayload: bodyBytesMax,
    maxFragments: FRAGMENTS_MAX,
    maxBufferedChunks: FRAGMENTS_MAX + Math.ceil(bodyBytesMax / READ_BYTES_MIN),
    closeTimeout: CLOSE_MS,
    // Pings are answered through the outbox, so that everything sent counts against one backlog.
    autoPong: false,
    // One frame per connection and turn, so that a flood of them does not hold up other connections.
    allowSynchronousEvents: false,
  };
}

export class Push {
  readonly #parts: PushParts;
  readonly #log: BoundedLog;
  readonly #server: WebSocketServer;
  readonly #compressingServer: WebSocketServer;
  readonly #frames = new FrameWriter();
  readonly #schedule: PushSchedule;
  readonly #context: PushContext;
  readonly #topicReads: TopicReads;
  readonly #connections = new Set<PushConnection>();
  readonly #usageByKey = new Map<string, Usage>();
  readonly #sweeper: NodeJS.Timeout;
  #isClosing = false;
  #marking: NodeJS.Immediate | undefined;
  #keysVersion: number | undefined;
  #inspectedMs = 0;
  #pingedMs = 0;
  /** Why `ws` refused the last handshake. */
  #handshakeRefusal: RequestError | undefined;

  constructor(parts: PushParts) {
    this.#parts = parts;
    this.#log = new BoundedLog(parts.log);
    this.#server = this.#createServer();
    this.#compressingServer = this.#createServer(COMPRESSION);
    this.#schedule = new PushSchedule({
      frames: this.#frames,
      turns: parts.answers.turns,
      readState: () => parts.live.state,
      worked: (seconds, states) => {
        parts.counters.countWork('push', seconds);
        parts.counters.countStates(states);
      },
    });
    this.#context = this.#createContext();
    this.#topicReads = new TopicReads({
      topics: this.#context.topics,
      reads: parts.answers.reads,
      readState: () => parts.live.state,
      failed: (error) => parts.answers.reportFailure(error),
    });
    this.#sweeper = setInterval(() => this.#sweep(), KEYS_CHECK_MS);
  }

  #createServer(perMessageDeflate?: typeof COMPRESSION): WebSocketServer {
    const options = { ...createOptions(this.#parts.settings), perMessageDeflate };
    const server = new WebSocketServer(options);
    server.on('wsClientError', ({ message }) => {
      this.#handshakeRefusal = new RequestError(
        'malformed_request',
        `handshake: expected a valid WebSocket handshake (${message})`,
      );
    });
    return server;
  }

  #createContext(): PushContext {
    const { answers, admission, counters, live, settings } = this.#parts;
    return {
      answers,
      admission,
      counters,
      topics: new Topics(answers.reads, this.#schedule),
      schedule: this.#schedule,
      frames: this.#frames,
      countStates: (count) => counters.countStates(count),
      backlogBytesMax: settings.pushBacklogMax,
      pingMs: settings.pushStallTimeout / PINGS_PER_STALL,
      readState: () => live.state,
      findSubscriptionShortage: (keyId) => this.#findSubscriptionShortage(keyId),
      countSubscriptions: (keyId, change) => {
        this.#usageOf(keyId).subscriptions += change;
        counters.countSubscriptions(change);
      },
      cutOff: (connection, reason) => this.#cutOff(connection, reason),
      turnAway: (connection, reason) => this.#turnAway(connection, reason),
      fail: (connection, error) => this.#fail(connection, error),
    };
  }

  /** Takes over a connection from HTTP, or returns why it is refused. */
  accept(
    request: IncomingMessage,
    socket: Socket,
    head: Buffer,
    secret: string,
  ): RequestError | undefined {
    if (secret === '') return NO_KEY;
    const secretHash = hashSecret(secret);
    const key = this.#parts.admission.findKey(secretHash);
    if (key === undefined) return UNKNOWN_KEY;
    const refusal = findBodyFault(request) ?? this.#findConnectionShortage(key.id);
    if (refusal !== undefined) return refusal;
    if (this.#isClosing) return STOPPING;
    const state = this.#parts.answers.readiness.findState();
    if (state instanceof RequestError) return state;
    const terms = readConnectionTerms(queryOf(request.url ?? ''));
    if (terms instanceof RequestError) return terms;
    this.#handshakeRefusal = undefined;
    const intervalMs = Math.max(terms.intervalMs, this.#parts.settings.pushInterval);
    const isCompressed = terms.isCompressed && !wantsSmallerWindow(request);
    const server = isCompressed ? this.#compressingServer : this.#server;
    server.handleUpgrade(request, socket, head, (webSocket) => {
      this.#open({ socket: webSocket, stream: socket, intervalMs, key, secretHash });
    });
    return this.#handshakeRefusal;
  }

  #findConnectionShortage(keyId: string): RequestError | undefined {
    const connections = this.#usageByKey.get(keyId)?.connections ?? 0;
    if (connections < this.#parts.settings.pushConnectionsMax) return undefined;
    const message = `connections: this key has ${connections} open, the limit`;
    return new RequestError('rate_limited', message, undefined, RETRY_AFTER_SECONDS);
  }

  #open(client: PushClient): void {
    const { socket: webSocket, key } = client;
    const connection = new PushConnection(client, this.#context);
    this.#connections.add(connection);
    this.#usageOf(key.id).connections++;
    this.#parts.counters.countPushConnections(1);
    webSocket.on('message', (data) => this.#receive(connection, data));
    webSocket.on('ping', (payload) => connection.receivePing(payload));
    webSocket.on('pong', (payload) => connection.receivePong(payload));
    // ws has sent the close code for what is wrong with the frames.
    webSocket.on('error', () => webSocket.terminate());
    webSocket.on('close', () => this.#release(connection));
  }

  #receive(connection: PushConnection, data: RawData): void {
    try {
      // In the form that `ws` gives by default.
      connection.receive(data as Buffer);
    } catch (error) {
      this.#fail(connection, error);
    }
  }

  /** After a bug of ours, only this connection is closed. */
  #fail({ socket, keyId }: PushConnection, error: unknown): void {
    this.#parts.counters.countFailure();
    this.#log.write('error', { keyId, ...describeFailure(error) }, 'a push connection failed');
    socket.close(INTERNAL_ERROR, 'internal error');
  }

  #release(connection: PushConnection): void {
    if (!this.#connections.delete(connection)) return;
    connection.release();
    const usage = this.#usageOf(connection.keyId);
    usage.connections--;
    if (usage.connections === 0) this.#usageByKey.delete(connection.keyId);
    this.#parts.counters.countPushConnections(-1);
  }

  #usageOf(keyId: string): Usage {
    let usage = this.#usageByKey.get(keyId);
    if (usage === undefined) {
      usage = { connections: 0, subscriptions: 0 };
      this.#usageByKey.set(keyId, usage);
    }
    return usage;
  }

  #findSubscriptionShortage(keyId: string): RequestError | undefined {
    const { subscriptions } = this.#usageOf(keyId);
    if (subscriptions < this.#parts.settings.pushSubscriptionsMax) return undefined;
    const message = `subscriptions: this key has ${subscriptions}, the limit`;
    return new RequestError('rate_limited', message);
  }

  /** Ends a connection whose client does not read, and so would not read a close frame. */
  #cutOff(connection: PushConnection, reason: string): void {
    this.#noteCutOff(connection, reason);
    connection.socket.terminate();
  }

  /** Closes a connection whose client exceeds a limit of the protocol, and says why. */
  #turnAway(connection: PushConnection, reason: string): void {
    const { socket } = connection;
    if (socket.readyState !== socket.OPEN) return;
    this.#noteCutOff(connection, reason);
    socket.close(POLICY_VIOLATION, reason);
  }

  #noteCutOff({ keyId }: PushConnection, reason: string): void {
    this.#parts.counters.countCutOff();
    this.#log.write('info', { keyId, reason }, 'a push connection was cut off');
  }

  #sweep(): void {
    const nowMs = performance.now();
    const { keysVersion } = this.#parts.admission;
    const areKeysSame = keysVersion === this.#keysVersion;
    if (areKeysSame && nowMs - this.#inspectedMs < INSPECTION_MS) return;
    this.#keysVersion = keysVersion;
    this.#inspectedMs = nowMs;
    this.#inspectAll(nowMs);
  }

  #inspectAll(nowMs: number): void {
    const { idleTimeout } = this.#parts.settings;
    const isPingDue = nowMs - this.#pingedMs > idleTimeout / PINGS_PER_TIMEOUT;
    if (isPingDue) this.#pingedMs = nowMs;
    for (const connection of this.#connections) this.#inspect(connection, nowMs, isPingDue);
  }

  #inspect(connection: PushConnection, nowMs: number, isPingDue: boolean): void {
    const { admission, settings } = this.#parts;
    const { socket, secretHash, heardMs, outbox, incoming } = connection;
    // A closing connection has a deadline of its own.
    if (socket.readyState !== socket.OPEN) return;
    const unreadMs = nowMs - (outbox.unreadSinceMs ?? nowMs);
    if (!admission.isLive(secretHash)) {
      socket.close(POLICY_VIOLATION, 'the key was revoked, or has expired');
    } else if (unreadMs > settings.pushStallTimeout) {
      this.#cutOff(connection, `nothing was read for ${settings.pushStallTimeout} ms`);
    } else if (incoming.partialMs(nowMs) > settings.requestTimeout) {
      this.#turnAway(connection, `a message was not complete after ${settings.requestTimeout} ms`);
    } else if (nowMs - heardMs > settings.idleTimeout) {
      socket.terminate();
    } else if (isPingDue) {
      outbox.ping();
    }
  }

  /** Called when the state has advanced. */
  advance(): void {
    const { state } = this.#parts.live;
    if (state === undefined || this.#connections.size === 0) return;
    this.#context.topics.advance(state);
    this.#markChanged();
  }

  /** Some now, the rest in turns to come. */
  #markChanged(): void {
    const { live, counters, answers } = this.#parts;
    if (live.state === undefined) return;
    const startedMs = performance.now();
    const isDone = this.#context.topics.markChanged(live.state, startedMs + MARKING_MS);
    counters.countWork('push', (performance.now() - startedMs) / 1000);
    if (isDone) return;
    this.#marking ??= answers.turns.doLater(() => {
      this.#marking = undefined;
      this.#markChanged();
    });
  }

  /** The ledger is broken: no more states will come. */
  fail(): void {
    this.#closeAll(INTERNAL_ERROR, 'the ledger is broken');
  }

  /** The state may no longer be served: clients that connect again may get to a better replica. */
  sendAway(): void {
    this.#closeAll(TRY_AGAIN_LATER, 'this replica is cut off from the ledger');
  }

  /** Closes all connections; those that do not answer in time are terminated. */
  close(): void {
    this.#isClosing = true;
    for (const connection of this.#connections) connection.startDraining();
    clearInterval(this.#sweeper);
    clearImmediate(this.#marking);
    this.#schedule.close();
    this.#topicReads.close();
    this.#closeAll(GOING_AWAY, 'the service is stopping');
    const timer = setTimeout(() => {
      for (const { socket } of this.#connections) socket.terminate();
    }, GOODBYE_MS);
    timer.unref();
  }

  #closeAll(code: number, reason: string): void {
    for (const { socket } of this.#connections) socket.close(code, reason);
  }
}
