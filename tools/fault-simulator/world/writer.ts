/** The process that appends an exchange's blocks to the ledger. */

import { setTimeout as sleep } from 'node:timers/promises';
import { BlockWriter } from '../../../src/feed/block-writer.ts';
import { createNdjsonFeed } from '../../../src/feed/ndjson.ts';
import { EmbeddedLedgerWriter } from '../../../src/ledger/embedded/embedded-writer.ts';
import type { LedgerWriter } from '../../../src/ledger/ledger.ts';
import { restoreReplica } from '../../../src/replica/replica.ts';
import type { Retention } from '../../../src/replica/retention.ts';
import { SnapshotFolder } from '../../../src/replica/snapshot-folder.ts';
import { SIMULATED_ROOT } from '../system/simulated-files.ts';
import type { Judge } from './judge.ts';
import type { Machine } from './machine.ts';
import type { TrueBlock, Truth } from './truth.ts';

const LINE_BYTES_MAX = 1 << 20;
const REFUSED_CHANCE = 0.01;

export interface WriterTerms {
  /** The mean time between two blocks. */
  readonly blockMs: number;
  readonly snapshotEvery: number;
  readonly snapshotKeep: number;
  readonly retention: Retention | undefined;
}

export interface WriterParts {
  readonly machine: Machine;
  readonly truth: Truth;
  readonly judge: Judge;
  readonly terms: WriterTerms;
  warn(message: string): void;
}

/**
 * Writes until the feed ends or an error occurs. The feed ends at a line that the ledger refuses.
 */
export async function runWriter(parts: WriterParts): Promise<void> {
  const { machine, terms, warn } = parts;
  const ledger = new EmbeddedLedgerWriter(machine.ledger.open());
  await ledger.register();
  machine.ledger.isCreated = true;
  try {
    await writeTo(ledger, { ...parts, terms, warn });
  } finally {
    await ledger.close();
  }
}

async function writeTo(ledger: LedgerWriter, parts: WriterParts): Promise<void> {
  const { truth, judge, terms, warn } = parts;
  const snapshots = new SnapshotFolder(`${SIMULATED_ROOT}/data`);
  const replica = await restoreReplica({ ledger, snapshots, warn });
  const head = truth.find(replica.point.hash);
  if (head === undefined) {
    judge.violate(`the writer starts from a block ${replica.point.height} that nobody made`);
    return;
  }
  const source = new BlockSource(parts, head);
  const writer = new BlockWriter({
    ...terms,
    ledger,
    snapshots,
    replica,
    aheadMsMax: 0,
    warn,
    durable: (height) => source.acknowledge(height),
  });
  const feed = createNdjsonFeed({
    name: 'exchange',
    lineBytesMax: LINE_BYTES_MAX,
    read: () => source.read(),
  });
  await writer.run(feed, new AbortController().signal);
}

/** The exchange's blocks as bytes that arrive in pieces. */
class BlockSource {
  readonly #parts: WriterParts;
  #last: TrueBlock;
  /** The blocks that were sent and are not acknowledged yet. */
  readonly #sent: TrueBlock[] = [];

  constructor(parts: WriterParts, head: TrueBlock) {
    this.#parts = parts;
    this.#last = head;
  }

  acknowledge(height: number): void {
    while (this.#sent.length > 0 && this.#sent[0].height <= height) {
      const [block] = this.#sent.splice(0, 1);
      this.#parts.judge.acknowledge(block);
    }
  }

  async *read(): AsyncGenerator<Buffer> {
    const { machine, terms } = this.#parts;
    const { random } = machine.kernel;
    for (;;) {
      await sleep(random.between(0, 2 * terms.blockMs));
      const lines = Array.from({ length: random.chance(0.1) ? 5 : 1 }, () => this.#nextLine());
      const bytes = Buffer.from(lines.map((line) => `${line}\n`).join(''));
      const cut = random.below(bytes.length);
      yield bytes.subarray(0, cut);
      await sleep(0);
      yield bytes.subarray(cut);
    }
  }

  #nextLine(): Buffer {
    const { machine, truth, judge } = this.#parts;
    const { kernel } = machine;
    if (kernel.random.chance(REFUSED_CHANCE)) {
      judge.count('lines that must be refused');
      return truth.makeRefusedLine(this.#last);
    }
    this.#last = truth.makeBlock(this.#last, kernel.timeMs);
    this.#sent.push(this.#last);
    return this.#last.line;
  }
}
