/** A ledger with a simulated exchange, which trades at the pace of the demo once it is told to. */

import assert from 'node:assert/strict';
import { formatAddress } from '../../src/exact/address.ts';
import { BlockWriter } from '../../src/feed/block-writer.ts';
import {
  createSetUpFeed,
  createTradingFeed,
  SimulatedState,
} from '../../src/feed/live-simulator.ts';
import { openEmbeddedLedgerWriter } from '../../src/ledger/embedded/embedded-writer.ts';
import { CHAIN_START } from '../../src/ledger/hash-chain.ts';
import type { LedgerWriter } from '../../src/ledger/ledger.ts';
import { SnapshotFolder } from '../../src/replica/snapshot-folder.ts';
import {
  createSimulator,
  type Simulator,
  type SimulatorOptions,
} from '../../src/simulator/simulator.ts';
import type { StateView } from '../../src/state/state.ts';

/** Ten blocks a second. */
const INTERVAL_MS = 100;

export class LiveLedger {
  readonly state: StateView;
  readonly #ledger: LedgerWriter;
  readonly #simulator: Simulator;
  readonly #writer: BlockWriter;
  readonly #end = new AbortController();
  #running = Promise.resolve();

  constructor(simulator: Simulator, ledger: LedgerWriter, writer: BlockWriter) {
    this.state = simulator.state;
    this.#ledger = ledger;
    this.#simulator = simulator;
    this.#writer = writer;
  }

  /** Everybody that the exchange has heard of so far; some have no account. */
  get users(): string[] {
    const { addresses } = this.state;
    return Array.from({ length: addresses.table.rowCount - 1 }, (_, index) =>
      formatAddress(addresses.addressOf(index + 1)),
    );
  }

  run(): void {
    const feed = createTradingFeed(this.#simulator, INTERVAL_MS);
    this.#running = this.#writer.run(feed, this.#end.signal);
  }

  /** The last block is in the ledger when this resolves. */
  async stop(): Promise<void> {
    this.#end.abort();
    await this.#running;
  }

  async close(): Promise<void> {
    await this.stop();
    await this.#ledger.close();
  }
}

/** The exchange is ready to trade, and at rest. */
export async function createLiveLedger(
  data: string,
  options: SimulatorOptions,
): Promise<LiveLedger> {
  const simulator = createSimulator(options);
  const ledger = await openEmbeddedLedgerWriter(data);
  const writer = new BlockWriter({
    ledger,
    replica: new SimulatedState(simulator, CHAIN_START),
    snapshots: new SnapshotFolder(data),
    snapshotEvery: Number.MAX_SAFE_INTEGER,
    snapshotKeep: 1,
    aheadMsMax: 0,
    warn: (message) => assert.fail(message),
  });
  await writer.run(createSetUpFeed(simulator), new AbortController().signal);
  return new LiveLedger(simulator, ledger, writer);
}
