/** The service, in this process, on a small simulated exchange that grows on demand. */

import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { pino } from 'pino';
import { Registry } from 'prom-client';
import { Budgets } from '../../src/access/budgets.ts';
import { openEmbeddedKeys } from '../../src/access/embedded/embedded-keys.ts';
import type { KeyStore } from '../../src/access/key-store.ts';
import type { Budget } from '../../src/config/budget.ts';
import { readSettings } from '../../src/config/read-settings.ts';
import { Committer } from '../../src/feed/committer.ts';
import { openEmbeddedLedgerWriter } from '../../src/ledger/embedded/embedded-writer.ts';
import { CHAIN_START } from '../../src/ledger/hash-chain.ts';
import type { LedgerWriter } from '../../src/ledger/ledger.ts';
import { Replica } from '../../src/replica/replica.ts';
import { WORKER_SETTINGS } from '../../src/service/settings.ts';
import { runWorker } from '../../src/service/worker.ts';
import { createSimulator, type Simulator } from '../../src/simulator/simulator.ts';
import { createState, type StateView } from '../../src/state/state.ts';
import { checkResponse } from '../../tools/harness/answer-checks.ts';

const ACCOUNTS = 25;
/** Short, so that an auction starts and ends within a few hundred blocks. */
const AUCTION_DURATION_SECONDS = 900;
const BLOCKS_MAX = 2000;
export const EXPLORER_URL = 'https://explorer.example/address/{address}';

export interface Reply {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
}

export class LiveService {
  readonly #folder: string;
  readonly #ledger: LedgerWriter;
  readonly #keys: KeyStore;
  readonly #simulator: Simulator;
  readonly #replica = new Replica(createState(), CHAIN_START);
  readonly #stop = new AbortController();
  #stopped: Promise<void> = Promise.resolve();
  #port = 0;

  private constructor(folder: string, ledger: LedgerWriter, keys: KeyStore) {
    this.#folder = folder;
    this.#ledger = ledger;
    this.#keys = keys;
    this.#simulator = createSimulator({
      seed: 'docs',
      accounts: ACCOUNTS,
      auctionDurationSeconds: AUCTION_DURATION_SECONDS,
    });
  }

  /** Starts a service on an empty ledger in a folder of its own. */
  static async start(): Promise<LiveService> {
    const folder = mkdtempSync(path.join(tmpdir(), 'perpinfo-docs-'));
    const ledger = await openEmbeddedLedgerWriter(folder);
    // Opened before the service opens them for reading: LMDB allows one environment per process.
    const service = new LiveService(folder, ledger, await openEmbeddedKeys(folder));
    await service.#serve();
    return service;
  }

  async #serve(): Promise<void> {
    const flags = {
      data: this.#folder,
      port: '0',
      'max-age': '0',
      'min-height-wait': '2000',
      'explorer-url': EXPLORER_URL,
      // The test's own work in this process must not count as overload.
      'overload-delay': '60000',
    };
    this.#port = await new Promise((resolve, reject) => {
      this.#stopped = runWorker({
        settings: readSettings(WORKER_SETTINGS, new Map(Object.entries(flags)), {}),
        log: pino({ level: 'silent' }),
        signal: this.#stop.signal,
        budgets: new Budgets(),
        registry: new Registry(),
        listening: async (port) => resolve(port),
      });
      this.#stopped.catch(reject);
    });
  }

  get port(): number {
    return this.#port;
  }

  /** The state that the service has once it has caught up. */
  get state(): StateView {
    return this.#replica.state;
  }

  /** Appends blocks until the condition holds. */
  async growUntil(isReached: (state: StateView) => boolean): Promise<void> {
    const committer = new Committer(this.#ledger, () => undefined);
    for (let count = 0; !isReached(this.state); count++) {
      if (count === BLOCKS_MAX) throw new Error(`not reached in ${BLOCKS_MAX} blocks`);
      committer.add(this.#replica.extend(Buffer.from(this.#simulator.next())));
    }
    await committer.flush();
  }

  async createKey(budget?: Budget): Promise<string> {
    const { secret } = await this.#keys.create({ label: 'docs', budget, expiresMs: undefined });
    return secret;
  }

  async fetch(target: string, options: RequestInit = {}): Promise<Reply> {
    const response = await fetch(`http://127.0.0.1:${this.#port}${target}`, options);
    const { status, headers } = response;
    const text = await response.text();
    checkResponse({
      ...{ method: options.method ?? 'GET', path: target, requestBody: String(options.body ?? '') },
      ...{ status, contentType: headers.get('content-type') ?? undefined, body: text },
    });
    return { status, headers, text };
  }

  /** Asks with a key, at the ledger's current height or later. */
  ask(key: string, question: unknown, headers: Record<string, string> = {}): Promise<Reply> {
    return this.fetch(`/${key}/info`, {
      method: 'POST',
      headers: {
        'Content-Type': 'application/json',
        'Ledger-Min-Height': String(this.state.height),
        ...headers,
      },
      body: typeof question === 'string' ? question : JSON.stringify(question),
    });
  }

  /** Sends raw bytes and reads until the service closes the connection. */
  async sendRaw(bytes: string): Promise<Reply> {
    const socket = connect(this.#port, '127.0.0.1').setEncoding('latin1');
    let received = '';
    socket.on('data', (text) => {
      received += text;
    });
    socket.write(bytes);
    await once(socket, 'close');
    const [head, text] = received.split('\r\n\r\n');
    const [statusLine, ...lines] = head.split('\r\n');
    const headers = new Headers(lines.map((line) => line.split(': ') as [string, string]));
    return { status: Number(statusLine.split(' ')[1]), headers, text };
  }

  async close(): Promise<void> {
    this.#stop.abort();
    await this.#stopped;
    await this.#keys.close();
    await this.#ledger.close();
    rmSync(this.#folder, { recursive: true });
  }
}
