/** Where a ledger and its keys are, by the settings: in a folder, or on NATS. */

import type { NatsOptions } from './jetstream/nats-client.ts';
import type { StorageSettings } from './settings.ts';

/**
 * How long a command without the setting waits for NATS. It is short, since a person waits for the
 * result.
 */
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
