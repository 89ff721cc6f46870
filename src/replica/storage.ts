/**
 * Opens a ledger and its snapshots. Both are in a folder; or the ledger is on NATS and the
 * snapshots are in a local folder, with copies on NATS for machines without snapshots.
 */

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { openEmbeddedLedger } from '../ledger/embedded/embedded-ledger.ts';
import { openEmbeddedLedgerWriter } from '../ledger/embedded/embedded-writer.ts';
import { openJetStreamLedger } from '../ledger/jetstream/jetstream-ledger.ts';
import { openJetStreamLedgerWriter } from '../ledger/jetstream/jetstream-writer.ts';
import type { NatsOptions } from '../ledger/jetstream/nats-client.ts';
import type { Ledger, LedgerWriter } from '../ledger/ledger.ts';
import { natsOptionsOf } from '../ledger/location.ts';
import type { LedgerWriterSettings, StorageSettings } from '../ledger/settings.ts';
import { openSharedSnapshots, type SharedSnapshots } from './shared-snapshots.ts';
import { SnapshotFolder } from './snapshot-folder.ts';

/**
 * An append is retried for this long, which is longer than NATS needs to elect a leader or to
 * restart. After that, a service manager starts the process again.
 */
const APPEND_RETRY_MS = 30_000;

export interface Storage<L extends Ledger = Ledger> {
  readonly ledger: L;
  readonly snapshots: SnapshotFolder;
  /** Undefined if the ledger is in the folder. */
  readonly shared: SharedSnapshots | undefined;
  close(): Promise<void>;
}

type Waiting = (message: string) => void;

/**
 * Opens a ledger and its snapshots for reading. `waiting` is called while NATS cannot be reached.
 */
export function openStorage(settings: StorageSettings, waiting?: Waiting): Promise<Storage> {
  const nats = natsOptionsOf(settings, waiting);
  return nats === undefined
    ? assemble(settings.data, () => openEmbeddedLedger(settings.data))
    : assemble(settings.data, () => openJetStreamLedger(nats), nats);
}

export function openStorageWriter(
  settings: LedgerWriterSettings,
  waiting?: Waiting,
): Promise<Storage<LedgerWriter>> {
  const nats = natsOptionsOf(settings, waiting);
  return nats === undefined
    ? assemble(settings.data, () => openEmbeddedLedgerWriter(settings.data))
    : assemble(
        settings.data,
        () =>
          openJetStreamLedgerWriter({
            ...nats,
            retryMs: APPEND_RETRY_MS,
            acceptsLoss: settings.acceptLoss,
          }),
        nats,
      );
}

async function assemble<L extends Ledger>(
  data: string,
  open: () => Promise<L>,
  nats?: NatsOptions,
): Promise<Storage<L>> {
  const ledger = await open();
  // Without a data folder, snapshots are fetched from NATS at each start.
  const temporary = data === '' ? mkdtempSync(path.join(tmpdir(), 'perpinfo-')) : undefined;
  const forget = () => {
    if (temporary !== undefined) rmSync(temporary, { recursive: true, force: true });
  };
  try {
    const shared = nats === undefined ? undefined : await openSharedSnapshots(nats);
    return {
      ledger,
      snapshots: new SnapshotFolder(temporary ?? data),
      shared,
      async close() {
        try {
          await shared?.close();
        } finally {
          await ledger.close();
          forget();
        }
      },
    };
  } catch (error) {
    await ledger.close();
    forget();
    throw error;
  }
}
