/** Where the keys are: with the ledger, in its folder or on NATS. */

import { natsOptionsOf, type StorageSettings } from '../ledger/storage.ts';
import { openJetStreamKeys } from './jetstream-keys.ts';
import { type KeyStore, openKeyStore } from './keys.ts';

export function openKeys(settings: StorageSettings): Promise<KeyStore> {
  const nats = natsOptionsOf(settings);
  return nats === undefined ? openKeyStore(settings.data) : openJetStreamKeys(nats);
}
