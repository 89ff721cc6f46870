/**
 * Push: WebSocket connections on which clients get states when they change. Every valid key may
 * connect. Each key has limits for connections and subscriptions. When a key is revoked or expires,
 * its connections are closed.
 */

import type { Logger } from 'pino';
import type { RawData } from 'ws';
import { type Admission, NO_KEY, UNKNOWN_KEY } from '../../access/admission.ts';
import { hashSecret } from '../../access/keys.ts';
import { RequestError } from '../../info/request-error.ts';
import type { LiveState } from '../../replica/live-state.ts';
import { type Slice, SliceLoop } from '../../timing/slices.ts';
import { describeFailure } from '../answering/answer-failure.ts';
import type { Answers } from '../answering/answers.ts';
import { STOPPING } from '../answering/cancellation.ts';
import type { PushCounters } from '../answering/counters.ts';
import { RateLimitedLog } from '../answering/limits/rate-limited-log.ts';
import { queryOf } from '../message/router.ts';
import type { HttpSettings } from '../settings.ts';
import {
  GOING_AWAY,
  INTERNAL_ERROR,
  POLICY_VIOLATION,
  TRY_AGAIN_LATER,
} from '../transport/websocket/close-codes.ts';
import { FrameWriter } from '../transport/websocket/frame-writer.ts';
import { findBodyFault, type Handshake, Handshakes } from '../transport/websocket/handshake.ts';
import { type PushClient, PushConnection, type PushContext } from './connection.ts';
import { readConnectionOptions } from './connection-options.ts';
import { PushSchedule } from './schedule.ts';
import { TopicReads } from './topic-reads.ts';
import { Topics } from './topics.ts';

export interface PushParts {
  readonly live: LiveState;
  readonly answers: Answers;
  readonly admission: Admission;
  readonly counters: PushCounters;
  readonly log: Logger;
  readonly settings: HttpSettings;
}

/**
 * The length of a slice of marking subscriptions. After each slice, waiting requests are answered.
 */
const MARKING_MS = 2;
/**
 * The interval between two checks for changed keys. After a change, all connections are inspected.
 */
const KEYS_CHECK_MS = 50;
/**
 * The interval between two inspections of the connections, which find missed deadlines and expired
 * keys.
 */
const INSPECTION_MS = 250;
/** The number of pings in an idle timeout. */
const PINGS_PER_TIMEOUT = 3;
/** The number of pings in a stall timeout, while data is sent. */
const PINGS_PER_STALL = 4;
const RETRY_AFTER_SECONDS = 1;
/** How long a client may take to answer the close frame when the service stops. */
const GOODBYE_MS = 500;

interface Usage {
  connections: number;
  subscriptions: number;
}

export class Push {
  readonly #parts: PushParts;
  readonly #log: RateLimitedLog;
  readonly #handshakes: Handshakes;
  readonly #frames = new FrameWriter();
  readonly #schedule: PushSchedule;
  readonly #context: PushContext;
  readonly #topicReads: TopicReads;
  readonly #connections = new Set<PushConnection>();
  readonly #usageByKey = new Map<string, Usage>();
  readonly #sweeper: NodeJS.Timeout;
  #isClosing = false;
  /** Marks the changed subscriptions after a block, in slices. */
  readonly #marking = new SliceLoop({
    sliceMs: () => MARKING_MS,
    step: (slice) => this.#markChanged(slice),
    hasMore: () => !this.#isMarked,
    worked: (seconds) => this.#parts.counters.countWork('push', seconds),
    later: (run) => this.#parts.answers.turns.doLater(run),
  });
  /** True if all subscriptions that the last blocks may have changed are marked. */
  #isMarked = true;
  #keysVersion: number | undefined;
  #inspectedMs = 0;
  #pingedMs = 0;

  constructor(parts: PushParts) {
    this.#parts = parts;
    this.#log = new RateLimitedLog(parts.log);
    this.#handshakes = new Handshakes(parts.settings);
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
      closeForViolation: (connection, reason) => this.#closeForViolation(connection, reason),
      fail: (connection, error) => this.#fail(connection, error),
    };
  }

  /**
   * Accepts a WebSocket handshake, and takes over the connection from HTTP. Returns the refusal if
   * the handshake is refused; otherwise returns undefined.
   */
  accept(handshake: Handshake, secret: string): RequestError | undefined {
    if (secret === '') return NO_KEY;
    const secretHash = hashSecret(secret);
    const key = this.#parts.admission.findKey(secretHash);
    if (key === undefined) return UNKNOWN_KEY;
    const { request, socket: stream } = handshake;
    const refusal = findBodyFault(request) ?? this.#findConnectionShortage(key.id);
    if (refusal !== undefined) return refusal;
    if (this.#isClosing) return STOPPING;
    const state = this.#parts.answers.readiness.findState();
    if (state instanceof RequestError) return state;
    const options = readConnectionOptions(queryOf(request.url ?? ''));
    if (options instanceof RequestError) return options;
    const intervalMs = Math.max(options.intervalMs, this.#parts.settings.pushInterval);
    return this.#handshakes.open(handshake, options.isCompressed, (socket) => {
      this.#open({ socket, stream, intervalMs, key, secretHash });
    });
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
    // `ws` has already sent a close code that describes the error.
    webSocket.on('error', () => webSocket.terminate());
    webSocket.on('close', () => this.#release(connection));
  }

  #receive(connection: PushConnection, data: RawData): void {
    try {
      // By default, `ws` gives each message as a Buffer.
      connection.receive(data as Buffer);
    } catch (error) {
      this.#fail(connection, error);
    }
  }

  /** Closes only this connection, after an unexpected error. */
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
    const { pushConnectionsMax, pushSubscriptionsPerConnection } = this.#parts.settings;
    if (subscriptions < pushConnectionsMax * pushSubscriptionsPerConnection) return undefined;
    const message = `subscriptions: this key has ${subscriptions}, the limit`;
    return new RequestError('rate_limited', message);
  }

  /**
   * Terminates a connection whose client does not read. The client would not read a close frame
   * either.
   */
  #cutOff(connection: PushConnection, reason: string): void {
    this.#noteCutOff(connection, reason);
    connection.socket.terminate();
  }

  /**
   * Closes a connection whose client exceeds a limit of the protocol. The close frame contains the
   * reason.
   */
  #closeForViolation(connection: PushConnection, reason: string): void {
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
    // `ws` has a deadline for connections that are being closed.
    if (socket.readyState !== socket.OPEN) return;
    const unreadMs = nowMs - (outbox.unreadSinceMs ?? nowMs);
    if (!admission.isLive(secretHash)) {
      socket.close(POLICY_VIOLATION, 'the key was revoked, or has expired');
    } else if (unreadMs > settings.pushStallTimeout) {
      this.#cutOff(connection, `nothing was read for ${settings.pushStallTimeout} ms`);
    } else if (incoming.partialMs(nowMs) > settings.requestTimeout) {
      this.#closeForViolation(
        connection,
        `a message was not complete after ${settings.requestTimeout} ms`,
      );
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
    this.#isMarked = false;
    // The first slice marks subscriptions now. Later slices mark the rest in later turns.
    this.#marking.runNow();
  }

  #markChanged(slice: Slice): boolean {
    const { state } = this.#parts.live;
    this.#isMarked = state === undefined || this.#context.topics.markChanged(state, slice.endMs);
    return false;
  }

  /** Closes all connections, because the ledger is broken and no state will follow. */
  fail(): void {
    this.#closeAll(INTERNAL_ERROR, 'the ledger is broken');
  }

  /**
   * Closes all connections, because this replica must not serve its state any longer. The clients
   * can connect to another replica.
   */
  sendAway(): void {
    this.#closeAll(TRY_AGAIN_LATER, 'this replica is cut off from the ledger');
  }

  /** Closes all connections. Connections whose clients do not answer in time are terminated. */
  close(): void {
    this.#isClosing = true;
    for (const connection of this.#connections) connection.startDraining();
    clearInterval(this.#sweeper);
    this.#marking.stop();
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
