/** The settings of a ledger: where it is, and how it is opened. */

import { NATS_ADDRESS_EXPECTED } from '../config/nats-address.ts';
import {
  completeSetting,
  type Declaration,
  type Declarations,
  type SettingValues,
} from '../config/setting.ts';
import { natsAddress, replicationFactor, switchType, text } from '../config/value-types.ts';

const LEDGER = {
  group: 'Ledger on NATS',
  type: natsAddress,
  default: undefined,
  inFile: true,
  help: `ledger on NATS JetStream, ${NATS_ADDRESS_EXPECTED}, or tls:// (default: the folder)`,
} as const satisfies Declaration;

/** The settings that choose where a ledger and its keys are: in a folder, or on NATS. */
export const STORAGE_SETTINGS = {
  data: {
    group: 'Most used',
    type: text('DIR'),
    replacedBy: completeSetting('ledger', LEDGER),
    help: 'folder of the ledger, its snapshots and its archive; with --ledger, only of snapshots and archive',
  },
  ledger: LEDGER,
  natsReplicas: {
    group: 'Ledger on NATS',
    type: replicationFactor,
    needs: ['nats'],
    default: 1,
    help: 'replication factor: 1 or 3',
  },
  natsCreds: {
    group: 'Ledger on NATS',
    type: text('FILE'),
    needs: ['nats'],
    default: undefined,
    help: 'credentials of a NATS user, as nsc writes them',
  },
  natsCa: {
    group: 'Ledger on NATS',
    type: text('FILE'),
    needs: ['nats'],
    default: undefined,
    help: 'certificate authority of the NATS servers, for TLS',
  },
} as const satisfies Declarations;

export const LEDGER_WRITER_SETTINGS = {
  ...STORAGE_SETTINGS,
  acceptLoss: {
    group: 'Ledger on NATS',
    type: switchType,
    needs: ['writer', 'nats'],
    default: false,
    help: 'continue even if the ledger on NATS has lost acknowledged blocks',
  },
} as const satisfies Declarations;

/**
 * The time for which services wait for NATS. Services wait longer than commands, because nobody
 * watches them. NATS servers that were started together with the service are ready within this
 * time. After this time, a service manager starts the process again.
 */
export const SERVICE_WAIT = { natsWaitMs: 60_000 };

export interface NatsWait {
  /** The time to wait for NATS servers that cannot be reached. */
  readonly natsWaitMs?: number;
}

export type StorageSettings = SettingValues<typeof STORAGE_SETTINGS> & NatsWait;
export type LedgerWriterSettings = StorageSettings & SettingValues<typeof LEDGER_WRITER_SETTINGS>;
