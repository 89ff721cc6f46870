/** The settings that locate a ledger and its keys: in a folder, or on NATS. */

import type { Settings } from '../config/settings.ts';
import type { NatsOptions } from './jetstream/nats-client.ts';

export const STORAGE_SETTINGS = ['data', 'ledger', 'natsReplicas', 'natsCreds', 'natsCa'] as const;
export type StorageSettings = Settings<(typeof STORAGE_SETTINGS)[number]>;

/** Undefined if the ledger is in a folder. */
export function natsOptionsOf(settings: Omit<StorageSettings, 'data'>): NatsOptions | undefined {
  const { ledger: address, natsReplicas, natsCreds, natsCa } = settings;
  if (address === undefined) return undefined;
  return { address, replicas: natsReplicas, credsFile: natsCreds, caFile: natsCa };
}
