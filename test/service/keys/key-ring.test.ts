/** When keys end, by a clock that may be set back. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openEmbeddedKeys } from '../../../src/access/embedded/embedded-keys.ts';
import { KeyRing } from '../../../src/access/key-ring.ts';
import { hashSecret } from '../../../src/access/keys.ts';
import { createPlaces } from '../../../tools/harness/program.ts';

const place = createPlaces();
const HOUR_MS = 3_600_000;

test('a key that was refused as expired stays so, whenever the clock is set back', async (context) => {
  let nowMs = 1_800_000_000_000;
  context.mock.method(Date, 'now', () => nowMs);
  const store = await openEmbeddedKeys(place());
  const expiresMs = nowMs + HOUR_MS;
  const { secret } = store.create({ label: '', budget: undefined, expiresMs });
  const ring = new KeyRing(store, { warn: assert.fail, warnOfUse: assert.fail });
  context.after(async () => {
    await ring.close();
    await store.close();
  });
  const hash = hashSecret(secret);
  const isTaken = () => ring.isLive(hash, nowMs) && ring.find(hash, nowMs) !== undefined;
  assert.equal(isTaken(), true);
  nowMs += HOUR_MS;
  assert.equal(isTaken(), false);
  nowMs -= HOUR_MS;
  assert.equal(isTaken(), false);
});
