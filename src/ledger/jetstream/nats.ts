/**
 * A connection to NATS, and what of JetStream is used through it. The client is loaded here, when a
 * connection is made: whoever keeps the ledger in a folder never loads it.
 */

import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import type { JetStreamClient, JetStreamManager, StoredMsg } from '@nats-io/jetstream';
import type { KV } from '@nats-io/kv';
import type { ObjectStore } from '@nats-io/obj';
import type { NatsConnection, NodeConnectionOptions, Server } from '@nats-io/transport-node';
import type { NatsAddress } from '../../config/nats-address.ts';
import { isUnavailable, LedgerError } from '../ledger.ts';
import { ServerWatch } from './server-watch.ts';

/** A server that does not answer is given up after this, and another one tried. */
const CONNECT_MS = 2_000;
const RECONNECT_MS = 250;
/** A server that is paused keeps its connections: only a missing answer gives it away. */
const PING_MS = 1_000;
const PINGS_UNANSWERED_MAX = 2;
/** How long the answer to one request may take. */
const REQUEST_MS = 3_000;
const OPEN_MS = 15_000;
const RETRY_MS = 200;
/** Each may be answered by another of three servers, of which one may lag. */
const DIRECT_GETS_MAX = 3;
/** Clusters are smaller; servers with ever new addresses would otherwise be remembered without end. */
const SERVERS_SEEN_MAX = 16;
/** The server's number for a last message of another id, which the client does not name. */
const WRONG_LAST_ID = 10070;

export interface NatsOptions {
  readonly address: NatsAddress;
  /** How many servers keep each stream that is made. */
  readonly replicas: number;
  /** A file with the user's token and key, as `nsc` writes it. */
  readonly credsFile?: string | undefined;
  /** A file with the authority that the servers' certificates are signed by. */
  readonly caFile?: string | undefined;
}

/** A message of the ledger's stream; its bytes are the reader's own. */
export type StoredMessage = Pick<StoredMsg, 'seq' | 'header' | 'data'>;

type Modules = Awaited<ReturnType<typeof loadModules>>;

async function loadModules() {
  const [transport, stream, kv, objects] = await Promise.all([
    import('@nats-io/transport-node'),
    import('@nats-io/jetstream'),
    import('@nats-io/kv'),
    import('@nats-io/obj'),
  ]);
  return { transport, stream, kv, objects };
}

/** What is wrong with our own code must not pass for a server that is away. */
function isBug(error: unknown): boolean {
  return (
    error instanceof TypeError || error instanceof RangeError || error instanceof ReferenceError
  );
}

export class NatsLink {
  readonly modules: Modules;
  readonly connection: NatsConnection;
  readonly streams: JetStreamClient;
  readonly manager: JetStreamManager;
  readonly options: NatsOptions;
  #isConnected = true;
  readonly #interrupts = new Set<() => void>();
  readonly #watch: ServerWatch;
  /** Servers that were given, or that others told of, the latest last. */
  #serversSeen: readonly string[] = [];

  constructor(
    options: NatsOptions,
    modules: Modules,
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

  /** Goes to another server; one that has lost its peers has told its clients to forget them. */
  leaveServer(): void {
    if (this.connection.isClosed()) return;
    this.#noteServers();
    this.connection.setServers([...this.#serversSeen]);
    // It rejects where the connection is being closed meanwhile: then there is nothing to leave.
    this.connection.reconnect().catch(() => undefined);
  }

  /** What a server says that knows its place; one that is not in touch with its peers says 503. */
  #isAnswer(error: unknown): boolean {
    return error instanceof this.modules.stream.JetStreamApiError && !this.#isRefused(error);
  }

  #isRefused(error: unknown): boolean {
    return error instanceof this.modules.stream.JetStreamApiError && error.status === 503;
  }

  get name(): string {
    return this.options.address.name;
  }

  /** The servers as they were given, without credentials. */
  get place(): string {
    return this.options.address.servers.join(',');
  }

  get isConnected(): boolean {
    return this.#isConnected;
  }

  /** The longest message that the server takes, headers included. */
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

  /** Runs something that asks the servers, and puts what goes wrong into the ledger's words. */
  async ask<T>(what: string, work: () => Promise<T>): Promise<T> {
    try {
      return await this.untilInterrupted(work());
    } catch (error) {
      throw this.describe(what, error);
    }
  }

  /** What was asked on a connection that is lost is not answered any more: it need not be waited for. */
  async untilInterrupted<T>(work: Promise<T>): Promise<T> {
    let forget = () => {};
    const interrupted = new Promise<never>((_, reject) => {
      forget = this.onInterrupt(() => reject(new Error('the connection was lost')));
    });
    try {
      return await Promise.race([work, interrupted]);
    } finally {
      forget();
    }
  }

  #askPatiently<T>(what: string, work: () => Promise<T>): Promise<T> {
    return this.tryPatiently(() => this.ask(what, work));
  }

  /** Servers that are there may have to agree first on which of them leads. */
  async tryPatiently<T>(work: () => Promise<T>): Promise<T> {
    const deadlineMs = performance.now() + OPEN_MS;
    for (;;) {
      try {
        return await work();
      } catch (error) {
        if (!isUnavailable(error) || performance.now() > deadlineMs) throw error;
        await sleep(RETRY_MS);
      }
    }
  }

  describe(what: string, error: unknown): unknown {
    if (error instanceof LedgerError || isBug(error)) return error;
    const { message } = error as Error;
    if (this.#codeOf(error) === this.modules.stream.JetStreamApiCodes.StreamNotFound) {
      const missing = `there is no ledger ${this.name} at ${this.place}`;
      return new LedgerError('missing', missing, { cause: error });
    }
    const away = `${what}: NATS at ${this.place} does not do it: ${message}`;
    return new LedgerError('unavailable', away, { cause: error });
  }

  /** True where an append or a change was refused because another one came first. */
  isWrongSequence(error: unknown): boolean {
    const { JetStreamApiCodes } = this.modules.stream;
    const code = this.#codeOf(error);
    return (
      code === JetStreamApiCodes.StreamWrongLastSequence ||
      code === JetStreamApiCodes.StreamWrongLastSequenceUnknown ||
      code === WRONG_LAST_ID
    );
  }

  /** The message of this sequence; undefined where the stream's leader says that there is none. */
  async readMessage(seq: number): Promise<StoredMessage | undefined> {
    try {
      const reading = this.manager.streams.getMessage(this.name, { seq });
      return (await this.untilInterrupted(reading)) ?? undefined;
    } catch (error) {
      const { NoMessageFound } = this.modules.stream.JetStreamApiCodes;
      if (this.#codeOf(error) === NoMessageFound) return undefined;
      const message = this.#isRefused(error) ? await this.#readMessageDirectly(seq) : undefined;
      if (message === undefined) throw error;
      return message;
    }
  }

  /**
   * Without a metadata leader even the stream's leader refuses to hand out a message, although it goes
   * on storing them. A direct get is answered by any server that keeps the stream, and so tells that a
   * message is there, but not that it is missing.
   */
  async #readMessageDirectly(seq: number): Promise<StoredMessage | undefined> {
    try {
      const { config } = await this.untilInterrupted(this.manager.streams.info(this.name));
      // A stream that was made without it leaves the question unanswered.
      if (!config.allow_direct) return undefined;
      for (let asked = 0; asked < DIRECT_GETS_MAX; asked++) {
        const reading = this.manager.direct.getMessage(this.name, { seq });
        const message = await this.untilInterrupted(reading);
        if (message === null) continue;
        // The bytes belong to the connection's buffer, which others go on using.
        return { seq: message.seq, header: message.header, data: Buffer.from(message.data) };
      }
      return undefined;
    } catch (error) {
      if (isBug(error)) throw error;
      return undefined;
    }
  }

  /** The server's own number of what went wrong, where it is the server that says so. */
  #codeOf(error: unknown): number | undefined {
    return error instanceof this.modules.stream.JetStreamApiError ? error.code : undefined;
  }

  /** The key-value bucket of this name, made where there is none. */
  openBucket(bucket: string): Promise<KV> {
    return this.#askPatiently(`opening the bucket ${bucket}`, async () => {
      const terms = { replicas: await this.#replicas(), history: 1, allow_direct: false };
      return new this.modules.kv.Kvm(this.streams).create(bucket, terms);
    });
  }

  openObjects(bucket: string): Promise<ObjectStore> {
    return this.#askPatiently(`opening the object store ${bucket}`, async () => {
      const terms = { replicas: await this.#replicas() };
      return new this.modules.objects.Objm(this.streams).create(bucket, terms);
    });
  }

  /** As many servers as keep the ledger; where there is none yet, the setting decides. */
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
 * The client lets a connection go only when all that was sent is on its way. Where the other side takes
 * nothing any more, that is when TCP gives up, after a quarter of an hour: the socket is ended here.
 */
function dropSocket(connection: NatsConnection): void {
  const { protocol } = connection as {
    protocol?: { transport?: { socket?: { destroy(): void } } };
  };
  protocol?.transport?.socket?.destroy();
}

/** The server that was tried longest ago, so that one that is left is not the next one again. */
function chooseServer(pool: readonly Server[]): Server {
  return pool.reduce((oldest, server) =>
    server.lastConnect < oldest.lastConnect ? server : oldest,
  );
}

/** A file that a setting names. */
function readGiven(flag: string, file: string): Buffer {
  try {
    return readFileSync(file);
  } catch (error) {
    const message = `cannot read the file of ${flag}: ${(error as Error).message}`;
    throw new LedgerError('missing', message, { cause: error });
  }
}

function connectionOptions(options: NatsOptions, { transport }: Modules): NodeConnectionOptions {
  const { address, credsFile, caFile } = options;
  const isEncrypted = address.isEncrypted || caFile !== undefined;
  // The client reads it with each connection, and does not name it where it cannot.
  if (caFile !== undefined) readGiven('--nats-ca', caFile);
  return {
    name: 'perpinfo',
    servers: [...address.servers],
    ...address.credentials,
    ...(credsFile === undefined
      ? {}
      : { authenticator: transport.credsAuthenticator(readGiven('--nats-creds', credsFile)) }),
    ...(isEncrypted ? { tls: caFile === undefined ? {} : { caFile } } : {}),
    timeout: CONNECT_MS,
    maxReconnectAttempts: -1,
    reconnectTimeWait: RECONNECT_MS,
    pingInterval: PING_MS,
    maxPingOut: PINGS_UNANSWERED_MAX,
    reconnectToServer: chooseServer,
    // Traces of where a request was made cost more than the request.
    noAsyncTraces: true,
  };
}

export async function connectNats(options: NatsOptions): Promise<NatsLink> {
  const modules = await loadModules();
  let connection: NatsConnection | undefined;
  try {
    connection = await modules.transport.connect(connectionOptions(options, modules));
    // Whether JetStream is there shows with the first thing that is asked of it.
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
