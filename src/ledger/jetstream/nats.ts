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

/** Deadline of one request. */
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
/** Each get may be answered by a different one of three servers, one of which may lag. */
const DIRECT_GETS_MAX = 3;
/** More than any cluster has: a limit in case servers keep changing their addresses. */
const SERVERS_SEEN_MAX = 16;
/** The server's error code for a wrong last message id; the client has no name for it. */
const WRONG_LAST_ID = 10070;

/** A message of the ledger's stream; its data is a copy. */
export type StoredMessage = Pick<StoredMsg, 'seq' | 'header' | 'data'>;

/** A bug must not be reported as an unavailable server, and retried. */
function isBug(error: unknown): boolean {
  return (
    error instanceof TypeError || error instanceof RangeError || error instanceof ReferenceError
  );
}

/** A deadline, to race against. */
export async function failAfter(delayMs: number, message: string): Promise<never> {
  await sleep(delayMs, undefined, { ref: false });
  throw new Error(message);
}

/** Fires when messages that are waited for stop arriving. */
export interface IdleTimer {
  /** A message has arrived. */
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
  /** Servers from the settings and those announced by other servers, the latest last. */
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

  /** True if a healthy server sent the error; a server without its peers sends 503. */
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

  /** Calls back whenever the connection is lost, until the returned function is called. */
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

  /** Makes a request; failures become LedgerErrors. */
  async ask<T>(what: string, work: () => Promise<T>): Promise<T> {
    try {
      return await this.untilInterrupted(work());
    } catch (error) {
      throw this.toLedgerError(what, error);
    }
  }

  /** Rejects when the connection is lost, because a request in flight is then never answered. */
  untilInterrupted<T>(work: Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      const forget = this.onInterrupt(() => reject(new Error('the connection was lost')));
      void work.then(resolve, reject).finally(forget);
    });
  }

  /**
   * Calls back when the connection is lost, or when nothing has arrived for the time: messages may also
   * be lost between servers, and then nothing else comes.
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

  /** A bug is returned unchanged. */
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

  /** True if a publish or an update was refused because another one came first. */
  isWrongSequence(error: unknown): boolean {
    const { JetStreamApiCodes } = this.modules.stream;
    const code = this.#codeOf(error);
    return (
      code === JetStreamApiCodes.StreamWrongLastSequence ||
      code === JetStreamApiCodes.StreamWrongLastSequenceUnknown ||
      code === WRONG_LAST_ID
    );
  }

  /** The message at a sequence; undefined if the stream's leader has none. */
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
   * Without a metadata leader the stream's leader refuses to return messages, although it still stores
   * them. A direct get is answered by any server of the stream: it can prove that a message exists, but
   * not that it is missing.
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

  /** The server's error code, if the server answered. */
  #codeOf(error: unknown): number | undefined {
    return error instanceof this.modules.stream.JetStreamApiError ? error.code : undefined;
  }

  /** Creates the key-value bucket if there is none. */
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

  /** The replication factor of the ledger's stream; if there is none yet, that of the settings. */
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

/** Retries until the deadline of the options; a file that cannot be read is not retried. */
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

/** Returns for how long after the start connecting is retried after this error. */
function retriedMs({ cause }: LedgerError, waitMs: number, { transport }: NatsModules): number {
  const isRefused = cause instanceof transport.errors.AuthorizationError;
  return isRefused ? Math.min(waitMs, REFUSED_MS) : waitMs;
}

async function connectOnce(options: NatsOptions, modules: NatsModules): Promise<NatsLink> {
  let connection: NatsConnection | undefined;
  try {
    connection = await modules.transport.connect(connectionOptions(options, modules));
    // No check of JetStream here: the first request shows whether it is enabled.
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
