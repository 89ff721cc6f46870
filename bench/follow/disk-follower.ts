/** A follower on a virtual clock that writes a real ledger and a real archive, block by block. */

import { statSync } from 'node:fs';
import path from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { archiveFolder, openArchiveFolder } from '../../src/archive/records/archive-tables.ts';
import { createArchiveOwner, takeOverArchive } from '../../src/archive/writing/archive-owner.ts';
import { Archiver } from '../../src/archive/writing/archiver.ts';
import { openEmbeddedLedgerWriter } from '../../src/ledger/embedded/embedded-writer.ts';
import { dataFile } from '../../src/ledger/embedded/lmdb-environment.ts';
import { ledgerFolder } from '../../src/ledger/embedded/lmdb-ledger-store.ts';
import { CHAIN_START } from '../../src/ledger/hash-chain.ts';
import type { LedgerWriter } from '../../src/ledger/ledger.ts';
import { Replica } from '../../src/replica/replica.ts';
import { createState } from '../../src/state/state.ts';
import { Upstream, type UpstreamLog } from '../../src/upstream/client/upstream.ts';
import { readUpstreamAddress } from '../../src/upstream/client/upstream-address.ts';
import { FollowFeed } from '../../src/upstream/follower/follow-feed.ts';
import type { VirtualClock } from '../../test/follow/virtual-clock.ts';
import type { RealRateExchange } from './real-rate-exchange.ts';

const STEP_MS = 100;
/** The interval at which the archiver writes. */
const FLUSH_MS = 1_000;
const MINUTE_MS = 60_000;
/** The default settings of a follower. */
const SETTINGS = {
  sweepMs: 60_000,
  forgetMs: 3_600_000,
  waitMs: 5_000,
  usersMax: 10,
  marksEveryMs: 60_000,
  sharedMs: 1_000,
  aheadMsMax: 0,
  lineBytesMax: 1 << 20,
};
const BUDGET = 1_200;

export interface DiskUse {
  readonly blocks: number;
  /** The bytes of the blocks' lines. */
  readonly lineBytes: number;
  readonly ledgerBytes: number;
  readonly archiveBytes: number;
}

export class DiskFollower {
  readonly #exchange: RealRateExchange;
  readonly #clock: VirtualClock;
  readonly #data: string;
  readonly #feed: FollowFeed;
  readonly #replica = new Replica(createState(), CHAIN_START);
  readonly #stop = new AbortController();
  readonly #ledger: LedgerWriter;
  readonly #archiver: Archiver;
  readonly #writing: Promise<void>;
  #isBusy = false;
  #lineBytes = 0;
  #flushedMs = 0;
  /** The bytes of the events, by type. */
  readonly bytesByType: Record<string, number> = {};
  readonly #close: () => Promise<void>;

  private constructor(
    { data, exchange, clock }: DiskOptions,
    { ledger, archiver, close }: DiskParts,
  ) {
    this.#data = data;
    this.#exchange = exchange;
    this.#clock = clock;
    this.#ledger = ledger;
    this.#archiver = archiver;
    this.#close = close;
    // Warnings after the stop are not printed, because they are only about requests that still
    // waited.
    const warn = (message: string) => this.#stop.signal.aborted || console.error(message);
    this.#feed = createFeed({ data, exchange, clock }, { info: () => undefined, warn });
    this.#writing = this.#write();
    clock.repeat(MINUTE_MS, () => this.#ask());
  }

  static async start(options: DiskOptions): Promise<DiskFollower> {
    const { data } = options;
    const ledger = await openEmbeddedLedgerWriter(data);
    const folder = await openArchiveFolder(data, { readOnly: false });
    if (folder === undefined) throw new Error('no archive was created');
    const owner = createArchiveOwner();
    await folder.transact(0, () => takeOverArchive(folder.tables, owner));
    const replica = new Replica(createState(), CHAIN_START);
    const archiver = new Archiver({ folder, owner, replica, range: undefined });
    const close = async () => {
      await folder.close();
      await ledger.close();
    };
    const follower = new DiskFollower(options, { ledger, archiver, close });
    follower.#ask();
    return follower;
  }

  /** Asks for all accounts as clients do, so that the follower forgets no account. */
  #ask(): void {
    const interests = this.#exchange.users.map((user) => {
      return { item: { kind: 'account' as const, user, dex: '' }, count: 1, keyId: '' };
    });
    this.#feed.noteInterest(interests);
  }

  async #write(): Promise<void> {
    const { state } = this.#replica;
    const start = { height: state.height, time: state.time, state };
    for await (const batch of this.#feed.blocks(start, this.#stop.signal)) {
      this.#isBusy = true;
      for (const { line } of batch) await this.#store(line);
      this.#isBusy = false;
    }
  }

  async #store(line: Buffer): Promise<void> {
    const stored = this.#replica.extend(line);
    this.#lineBytes += line.length;
    for (const event of JSON.parse(line.toString()).events) {
      const bytes = JSON.stringify(event).length + 1;
      this.bytesByType[event.type] = (this.bytesByType[event.type] ?? 0) + bytes;
    }
    await this.#ledger.append([stored]);
    this.#archiver.apply(stored);
    if (this.#clock.nowMs() - this.#flushedMs < FLUSH_MS) return;
    this.#flushedMs = this.#clock.nowMs();
    await this.#archiver.flush();
  }

  /** Advances the clock. Each step waits until its blocks are written. */
  async advance(ms: number): Promise<void> {
    for (let passedMs = 0; passedMs < ms; passedMs += STEP_MS) {
      await this.#clock.advance(STEP_MS);
      do await nextTurn();
      while (this.#isBusy);
    }
  }

  get use(): DiskUse {
    return {
      blocks: this.#replica.point.height,
      lineBytes: this.#lineBytes,
      ledgerBytes: sizeOf(ledgerFolder(this.#data)),
      archiveBytes: sizeOf(archiveFolder(this.#data)),
    };
  }

  /** The number of accounts that the ledger has. */
  get followed(): number {
    return this.#feed.status().followed;
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#writing;
    await this.#close();
  }
}

interface DiskOptions {
  readonly data: string;
  readonly exchange: RealRateExchange;
  readonly clock: VirtualClock;
}

interface DiskParts {
  readonly ledger: LedgerWriter;
  readonly archiver: Archiver;
  close(): Promise<void>;
}

function createFeed({ exchange, clock }: DiskOptions, log: UpstreamLog): FollowFeed {
  const address = readUpstreamAddress(new URL('http://virtual'));
  const random = () => 0.5;
  return new FollowFeed({
    origin: 'the exchange',
    upstream: new Upstream(exchange, { address, budget: BUDGET, log, clock, random }),
    createPush: (handler) => exchange.createPush(handler),
    settings: SETTINGS,
    intervalMs: 100,
    forwardKeepMs: 1_000,
    redact: (text) => text,
    log,
    clock,
    wallMs: () => Date.now(),
  });
}

function sizeOf(folder: string): number {
  return statSync(path.resolve(dataFile(folder))).size;
}
