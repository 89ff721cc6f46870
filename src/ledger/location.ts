/** The settings that locate a ledger and its keys: in a folder, or on NATS. */

import type { Settings } from '../config/settings.ts';
import type { NatsOptions } from './jetstream/nats-client.ts';

export const STORAGE_SETTINGS = ['data', 'ledger', 'natsReplicas', 'natsCreds', 'natsCa'] as const;
export type StorageSettings = Settings<(typeof STORAGE_SETTINGS)[number]> &
  Partial<Settings<'natsWait'>>;

/** How long a command without the setting waits for NATS: somebody waits for its result. */
const SHORT_WAIT_MS = 5_000;

/** Undefined if the ledger is in a folder. `waiting` is called while NATS cannot be reached. */
export function natsOptionsOf(
  settings: Omit<StorageSettings, 'data'>,
  waiting?: (message: string) => void,
): NatsOptions | undefined {
  const { ledger: address, natsReplicas, natsCreds, natsCa, natsWait } = settings;
  if (address === undefined) return undefined;
  const wait = { waitMs: natsWait ?? SHORT_WAIT_MS, waiting };
  return { address, replicas: natsReplicas, credsFile: natsCreds, caFile: natsCa, ...wait };
}
