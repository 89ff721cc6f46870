/** Where the keys are: with the ledger, in its folder or on NATS. */

import { natsOptionsOf, type StorageSettings } from '../ledger/location.ts';
import { openKeyReader, openKeyStore } from './embedded-keys.ts';
import { openJetStreamKeys } from './jetstream-keys.ts';
import type { KeyReader, KeyStore } from './keys.ts';

/** For changing them; without `create` there must be some. */
export function openKeys(
  settings: StorageSettings,
  options: { create: boolean },
): Promise<KeyStore> {
  const nats = natsOptionsOf(settings);
  return nats === undefined ? openKeyStore(settings.data, options) : openJetStreamKeys(nats);
}

/** For reading them: in a folder nothing is made, and nothing but times of use is written. */
export function openKeysForReading(settings: StorageSettings): Promise<KeyReader> {
  const nats = natsOptionsOf(settings);
  return nats === undefined ? openKeyReader(settings.data) : openJetStreamKeys(nats);
}
