/** A connection to NATS, and the JetStream requests made over it. */

import { setTimeout as sleep } from 'node:timers/promises';
import type { JetStreamClient, JetStreamManager, StoredMsg } from '@nats-io/jetstream';
import type { KV } from '@nats-io/kv';
import type { ObjectStore } from '@nats-io/obj';
import type { NatsConnection } from '@nats-io/transport-node';
import { backoffMs } from '../../timing/backoff.ts';
import { isUnavailable, LedgerError } from '../ledger.ts';
import { dropSocket } from './drop-socket.ts';
import {
  connectionOptions,
  loadModules,
  type NatsModules,
  type NatsOptions,
} from './nats-client.ts';
import { ServerWatch } from './server-watch.ts';

/** The deadline of one request. */
const REQUEST_MS = 3_000;
/** Opening is retried for at least this long while the servers elect a leader. */
const OPEN_MS = 15_000;
const RETRY_MS = 200;
/** The pauses between attempts to connect. Each pause is twice as long as the pause before. */
const CONNECT_RETRY = { firstMs: 250, maxMs: 5_000 };
/**
 * Refused credentials are retried for this long: a server that has just started may not know its users yet.
 */
const REFUSED_MS = 3_000;
/**
 * The maximum number of direct gets for one message. Each get may be answered by another of three
 * servers, one of which may lag.
 */
const DIRECT_GETS_MAX = 3;
/**
 * The maximum number of servers that are remembered. It exceeds the size of any cluster, and is a
 * limit in case servers change their addresses again and again.
 */
const SERVERS_SEEN_MAX = 16;
/** The server's error code for a wrong last message id; the client has no name for it. */
const WRONG_LAST_ID = 10070;

/** A message of the ledger's stream; its data is a copy. */
export type StoredMessage = Pick<StoredMsg, 'seq' | 'header' | 'data'>;

/**
 * True if the error is a bug of the program. A bug must not be reported as an unavailable server,
 * and not be retried.
 */
function isBug(error: unknown): boolean {
  return (
    error instanceof TypeError || error instanceof RangeError || error instanceof ReferenceError
  );
}

/** Rejects after the delay: a deadline for `Promise.race`. */
export async function failAfter(delayMs: number, message: string): Promise<never> {
  await sleep(delayMs, undefined, { ref: false });
  throw new Error(message);
}

/** A timer that fires when no message arrives for a time. */
export interface IdleTimer {
  /** Call this when a message has arrived. */
  reset(): void;
  /** Call this when no more messages are expected. */
  cancel(): void;
}

export class NatsLink {
  readonly modules: NatsModules;
  readonly connection: NatsConnection;
  readonly streams: JetStreamClient;
  readonly manager: JetStreamManager;
  readonly options: NatsOptions;
  #isConnected = true;
  readonly #interrupts = new Set<() => void>();
  readonly #watch: ServerWatch;
  /**
   * The servers from the settings and the servers that other servers announced, the latest last.
   */
  #serversSeen: readonly string[] = [];

  constructor(
    options: NatsOptions,
    modules: NatsModules,
    connection: NatsConnection,
    manager: JetStreamManager,
  ) {
    this.options = options;
    this.modules = modules;
    this.connection = connection;
    this.manager = manager;
    this.streams = manager.jetstream();
    this.#watch = new ServerWatch({
      readInfo: () => manager.streams.info(this.name),
      isAnswer: (error) => this.#isAnswer(error),
      leave: () => this.leaveServer(),
    });
    this.#noteServers();
    void this.#watchStatus();
  }

  #noteServers(): void {
    const listed = this.connection.getServers().map(({ listen }) => listen);
    const seen = this.#serversSeen.filter((server) => !listed.includes(server));
    this.#serversSeen = [...seen, ...listed].slice(-SERVERS_SEEN_MAX);
  }

  /** Reconnects to another server, possibly one that the current server no longer lists. */
  leaveServer(): void {
    if (this.connection.isClosed()) return;
    this.#noteServers();
    this.connection.setServers([...this.#serversSeen]);
    // The call rejects if the connection is being closed, which has the same effect.
    this.connection.reconnect().catch(() => undefined);
  }

  /** True if a healthy server sent the error. A server without its peers sends status 503. */
  #isAnswer(error: unknown): boolean {
    return error instanceof this.modules.stream.JetStreamApiError && !this.#isRefused(error);
  }

  #isRefused(error: unknown): boolean {
    return error instanceof this.modules.stream.JetStreamApiError && error.status === 503;
  }

  get name(): string {
    return this.options.address.name;
  }

  /** The servers as configured, without credentials. */
  get place(): string {
    return this.options.address.servers.join(',');
  }

  get isConnected(): boolean {
    return this.#isConnected;
  }

  /** The largest message that the server accepts, headers included. */
  get messageBytesMax(): number {
    return this.connection.info?.max_payload ?? 1 << 20;
  }

  /** Calls `interrupt` whenever the connection is lost, until the returned function is called. */
  onInterrupt(interrupt: () => void): () => void {
    this.#interrupts.add(interrupt);
    return () => this.#interrupts.delete(interrupt);
  }

  async #watchStatus(): Promise<void> {
    for await (const { type } of this.connection.status()) {
      if (type === 'update') this.#noteServers();
      if (type === 'reconnect') {
        this.#isConnected = true;
        this.#watch.connected();
      }
      if (type === 'forceReconnect' || type === 'staleConnection') dropSocket(this.connection);
      if (type !== 'disconnect' && type !== 'staleConnection') continue;
      this.#isConnected = false;
      this.#watch.disconnected();
      for (const interrupt of this.#interrupts) interrupt();
    }
  }

  /** Makes a request. If it fails, throws a LedgerError. */
  async ask<T>(what: string, work: () => Promise<T>): Promise<T> {
    try {
      return await this.untilInterrupted(work());
    } catch (error) {
      throw this.toLedgerError(what, error);
    }
  }

  /** Rejects when the connection is lost, because a request in flight then never gets an answer. */
  untilInterrupted<T>(work: Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      const forget = this.onInterrupt(() => reject(new Error('the connection was lost')));
      void work.then(resolve, reject).finally(forget);
    });
  }

  /**
   * Calls `stop` when the connection is lost, or when nothing has arrived for `idleMs`: messages
   * may also be lost between servers, and then no further message arrives.
   */
  startIdleTimer(idleMs: number, stop: (reason: Error) => void): IdleTimer {
    const startTimer = () =>
      setTimeout(() => stop(new Error(`nothing arrived for ${idleMs} ms`)), idleMs).unref();
    const forget = this.onInterrupt(() => stop(new Error('the connection was lost')));
    let timer = startTimer();
    return {
      reset() {
        clearTimeout(timer);
        timer = startTimer();
      },
      cancel() {
        clearTimeout(timer);
        forget();
      },
    };
  }

  #askWithRetry<T>(what: string, work: () => Promise<T>): Promise<T> {
    return this.retryWhileUnavailable(() => this.ask(what, work));
  }

  /** Retries while the servers are unavailable: they may be electing a leader. */
  async retryWhileUnavailable<T>(work: () => Promise<T>): Promise<T> {
    const { waitMs = 0, waiting } = this.options;
    const deadlineMs = performance.now() + Math.max(OPEN_MS, waitMs);
    for (let pauses = 0; ; pauses++) {
      try {
        return await work();
      } catch (error) {
        if (!isUnavailable(error) || performance.now() > deadlineMs) throw error;
        if (pauses === 0) waiting?.(`${error.message}: waiting for the servers`);
        await sleep(RETRY_MS);
      }
    }
  }

  /** Returns the error as a LedgerError; returns a bug unchanged. */
  toLedgerError(what: string, error: unknown): unknown {
    if (error instanceof LedgerError || isBug(error)) return error;
    const { message } = error as Error;
    if (this.#codeOf(error) === this.modules.stream.JetStreamApiCodes.StreamNotFound) {
      const missing = `there is no ledger ${this.name} at ${this.place}`;
      return new LedgerError('missing', missing, { cause: error });
    }
    const failed = `${what}: NATS request failed: ${message} (${this.place})`;
    return new LedgerError('unavailable', failed, { cause: error });
  }

  /** True if a publish or an update was refused because another writer was faster. */
  isWrongSequence(error: unknown): boolean {
    const { JetStreamApiCodes } = this.modules.stream;
    const code = this.#codeOf(error);
    return (
      code === JetStreamApiCodes.StreamWrongLastSequence ||
      code === JetStreamApiCodes.StreamWrongLastSequenceUnknown ||
      code === WRONG_LAST_ID
    );
  }

  /** Returns the message at a sequence; returns undefined if the stream's leader has none. */
  async readMessage(seq: number): Promise<StoredMessage | undefined> {
    try {
      const reading = this.manager.streams.getMessage(this.name, { seq });
      return (await this.untilInterrupted(reading)) ?? undefined;
    } catch (error) {
      const message = this.#isRefused(error) ? await this.#readMessageDirectly(seq) : undefined;
      if (message === undefined) throw error;
      return message;
    }
  }

  /**
   * Reads a message without the stream's leader. If there is no metadata leader, the stream's
   * leader refuses to return messages, although it still stores them. Any server of the stream may
   * answer a direct get, so the answer can prove that a message exists, but not that the message is
   * missing.
   */
  async #readMessageDirectly(seq: number): Promise<StoredMessage | undefined> {
    try {
      const { config } = await this.untilInterrupted(this.manager.streams.info(this.name));
      // Without this option, servers never answer direct gets.
      if (!config.allow_direct) return undefined;
      for (let asked = 0; asked < DIRECT_GETS_MAX; asked++) {
        const reading = this.manager.direct.getMessage(this.name, { seq });
        const message = await this.untilInterrupted(reading);
        if (message === null) continue;
        // A copy: the bytes belong to the connection's buffer, which is reused.
        return { seq: message.seq, header: message.header, data: Buffer.from(message.data) };
      }
      return undefined;
    } catch (error) {
      if (isBug(error)) throw error;
      return undefined;
    }
  }

  /**
   * Returns the server's error code; returns undefined if the error is not an answer of the server.
   */
  #codeOf(error: unknown): number | undefined {
    return error instanceof this.modules.stream.JetStreamApiError ? error.code : undefined;
  }

  /** Opens the key-value bucket, and creates it if there is none. */
  openBucket(bucket: string): Promise<KV> {
    return this.#askWithRetry(`opening the bucket ${bucket}`, async () => {
      const terms = { replicas: await this.#replicas(), history: 1, allow_direct: false };
      return new this.modules.kv.Kvm(this.streams).create(bucket, terms);
    });
  }

  openObjects(bucket: string): Promise<ObjectStore> {
    return this.#askWithRetry(`opening the object store ${bucket}`, async () => {
      const terms = { replicas: await this.#replicas() };
      return new this.modules.objects.Objm(this.streams).create(bucket, terms);
    });
  }

  /**
   * Returns the replication factor of the ledger's stream, or of the settings if there is no stream
   * yet.
   */
  async #replicas(): Promise<number> {
    try {
      return (await this.manager.streams.info(this.name)).config.num_replicas;
    } catch (error) {
      if (this.#codeOf(error) !== this.modules.stream.JetStreamApiCodes.StreamNotFound) throw error;
      return this.options.replicas;
    }
  }

  async close(): Promise<void> {
    this.#watch.close();
    if (!this.connection.isClosed()) await this.connection.close();
  }
}

/**
 * Connects to NATS, and retries until the deadline of the options. An unreadable file is an error
 * without a retry.
 */
export async function connectNats(options: NatsOptions): Promise<NatsLink> {
  const { waitMs = 0, waiting } = options;
  const modules = await loadModules();
  const startedMs = performance.now();
  for (let failures = 1; ; failures++) {
    try {
      return await connectOnce(options, modules);
    } catch (error) {
      if (!isUnavailable(error)) throw error;
      const restMs = startedMs + retriedMs(error, waitMs, modules) - performance.now();
      if (restMs <= 0) throw error;
      const pause = Math.min(backoffMs(failures, CONNECT_RETRY), restMs);
      waiting?.(`${error.message}: retrying for ${Math.ceil(restMs / 1000)} s more`);
      await sleep(pause);
    }
  }
}

/** Returns the time, counted from the first attempt, for which this error is retried. */
function retriedMs({ cause }: LedgerError, waitMs: number, { transport }: NatsModules): number {
  const isRefused = cause instanceof transport.errors.AuthorizationError;
  return isRefused ? Math.min(waitMs, REFUSED_MS) : waitMs;
}

async function connectOnce(options: NatsOptions, modules: NatsModules): Promise<NatsLink> {
  let connection: NatsConnection | undefined;
  try {
    connection = await modules.transport.connect(connectionOptions(options, modules));
    // JetStream is not checked here: the first request shows whether it is enabled.
    const terms = { timeout: REQUEST_MS, checkAPI: false };
    const manager = await modules.stream.jetstreamManager(connection, terms);
    return new NatsLink(options, modules, connection, manager);
  } catch (error) {
    await connection?.close();
    if (error instanceof LedgerError || isBug(error)) throw error;
    const place = options.address.servers.join(',');
    const message = `cannot reach NATS JetStream at ${place}: ${(error as Error).message}`;
    throw new LedgerError('unavailable', message, { cause: error });
  }
}
