/** A ledger on a simulated NATS server (test/simulation/nats), for faults that a real one seldom has. */

import { test as plainTest } from 'node:test';
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

/** A test beside one server; what it has opened is closed after it. */
export function test(name: string, work: (world: SimulatedWorld) => Promise<void>): void {
  plainTest(name, () =>
    runInProcess(1, async (nats, kernel) => {
      const options = nats.options(NAME);
      const opened: { close(): Promise<void> }[] = [];
      const open = async <T extends (typeof opened)[number]>(opening: Promise<T>): Promise<T> => {
        const one = await opening;
        opened.unshift(one);
        return one;
      };
      await work({
        kernel,
        nats,
        connect: () => open(connectNats(options)),
        openWriter: (terms) =>
          open(openJetStreamLedgerWriter({ ...options, retryMs: RETRY_MS, ...terms })),
        openReader: () => open(openJetStreamLedger(options)),
      });
      for (const each of opened) await each.close();
    }),
  );
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
