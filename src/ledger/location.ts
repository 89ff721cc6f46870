/** Decides from the settings where a ledger and its keys are: in a folder, or on NATS. */

import type { NatsOptions } from './jetstream/nats-client.ts';
import type { StorageSettings } from './settings.ts';

/**
 * A command waits this long for NATS. The wait is short, because a person waits for the result. Services
 * wait longer (SERVICE_WAIT).
 */
const SHORT_WAIT_MS = 5_000;

/**
 * Returns the options for NATS; returns undefined if the ledger is in a folder. `waiting` is called
 * while NATS cannot be reached.
 */
export function natsOptionsOf(
  settings: Omit<StorageSettings, 'data'>,
  waiting?: (message: string) => void,
): NatsOptions | undefined {
  const { ledger: address, natsReplicas, natsCreds, natsCa, natsWaitMs } = settings;
  if (address === undefined) return undefined;
  const wait = { waitMs: natsWaitMs ?? SHORT_WAIT_MS, waiting };
  return { address, replicas: natsReplicas, credsFile: natsCreds, caFile: natsCa, ...wait };
}
