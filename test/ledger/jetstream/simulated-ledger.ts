/** A ledger on a simulated NATS server (test/simulation/nats), for faults that a real one seldom has. */

import { encodeMessage } from '../../../src/ledger/jetstream/block-message.ts';
import { openJetStreamLedger } from '../../../src/ledger/jetstream/jetstream-ledger.ts';
import { openJetStreamLedgerWriter } from '../../../src/ledger/jetstream/jetstream-writer.ts';
import { connectNats, type NatsLink } from '../../../src/ledger/jetstream/nats.ts';
import type { ChainPoint, Ledger, LedgerWriter, StoredBlock } from '../../../src/ledger/ledger.ts';
import { runInProcess } from '../../../tools/fault-simulator/nats/run-in-process.ts';
import type { SimulatedNats } from '../../../tools/fault-simulator/nats/simulated-nats.ts';
import type { Kernel } from '../../../tools/fault-simulator/system/kernel.ts';

const NAME = 'ledger';
const RETRY_MS = 5_000;

export interface SimulatedWorld {
  readonly kernel: Kernel;
  readonly nats: SimulatedNats;
  connect(): Promise<NatsLink>;
  openWriter(terms?: { retryMs?: number; acceptsLoss?: boolean }): Promise<LedgerWriter>;
  openReader(): Promise<Ledger>;
}

/** Runs the work beside one server. */
export function besideServer(work: (world: SimulatedWorld) => Promise<void>): () => Promise<void> {
  return () =>
    runInProcess(1, (nats, kernel) => {
      const options = nats.options(NAME);
      return work({
        kernel,
        nats,
        connect: () => connectNats(options),
        openWriter: (terms) =>
          openJetStreamLedgerWriter({ ...options, retryMs: RETRY_MS, ...terms }),
        openReader: () => openJetStreamLedger(options),
      });
    });
}

/** Creates the ledger with these blocks. */
export async function storeBlocks(
  { openWriter }: SimulatedWorld,
  blocks: readonly StoredBlock[],
): Promise<void> {
  const writer = await openWriter();
  await writer.append(blocks);
  await writer.close();
}

/** Publishes a block as another writer would that expects nothing of the stream. */
export async function publishBlock(
  link: NatsLink,
  previous: ChainPoint,
  block: StoredBlock,
  msgID?: string,
): Promise<number> {
  const empty = link.modules.transport.headers();
  const { payload, headers } = encodeMessage(previous, block, empty, link.messageBytesMax);
  const options = { headers, ...(msgID === undefined ? {} : { msgID }) };
  return (await link.streams.publish(`perpinfo.${NAME}.blocks`, payload, options)).seq;
}
