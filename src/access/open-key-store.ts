/** Opens the keys, which are stored with the ledger: in its folder or on NATS. */

import { natsOptionsOf } from '../ledger/location.ts';
import type { StorageSettings } from '../ledger/settings.ts';
import { openEmbeddedKeys } from './embedded/embedded-keys.ts';
import { openKeyReader } from './embedded/key-reader.ts';
import { openJetStreamKeys } from './jetstream/jetstream-keys.ts';
import type { KeyReader, KeyStore } from './key-store.ts';

/** Opens the keys for changes. Without `create`, the keys must exist. */
export function openKeys(
  settings: StorageSettings,
  options: { create: boolean },
): Promise<KeyStore> {
  const nats = natsOptionsOf(settings);
  return nats === undefined ? openEmbeddedKeys(settings.data, options) : openJetStreamKeys(nats);
}

/** Opens the keys for reading. A reader writes only when keys were last used. */
export function openKeysForReading(settings: StorageSettings): Promise<KeyReader> {
  const nats = natsOptionsOf(settings);
  return nats === undefined ? openKeyReader(settings.data) : openJetStreamKeys(nats);
}
