/** A key that is revoked: no longer live anywhere, and still in the list, for some time. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openEmbeddedKeys } from '../../../src/access/embedded/embedded-keys.ts';
import { keysFolder } from '../../../src/access/embedded/key-tables.ts';
import { openLmdbKeyTables } from '../../../src/access/embedded/lmdb-key-tables.ts';
import { findRemovableKeys } from '../../../src/access/key-changes.ts';
import { KeyRing } from '../../../src/access/key-ring.ts';
import { hashSecret } from '../../../src/access/keys.ts';
import { createPlaces } from '../../../tools/harness/program.ts';
import { createKey } from '../../../tools/harness/running.ts';

const place = createPlaces();

async function countRecords(data: string): Promise<number> {
  const tables = await openLmdbKeyTables(keysFolder(data), { readOnly: true });
  const count = tables?.readKeys().length ?? 0;
  await tables?.close();
  return count;
}

test('a revoked key stays revoked, is in no backup, and is listed for 90 days', async () => {
  const data = place();
  const { id, secret } = await createKey(data, { label: 'gone' });
  const store = await openEmbeddedKeys(data);
  const revokedMs = Date.now();
  store.revoke(id);
  const refusal = { message: new RegExp(`^key ${id} was revoked at \\d{4}-`) };
  assert.throws(() => store.revoke(id), refusal);
  assert.throws(() => store.revoke(`${id}.1`), refusal);
  assert.throws(() => store.addSecret(id), refusal);
  assert.deepEqual(store.all(), []);
  const ring = new KeyRing(store, { warn: assert.fail, warnOfUse: assert.fail });
  assert.equal(ring.find(hashSecret(secret), Date.now()), undefined);
  const [listed] = await store.list();
  assert.deepEqual([listed.id, listed.label, listed.secrets], [id, 'gone', []]);
  assert.ok((listed.revokedMs ?? 0) >= revokedMs);
  await ring.close();
  await store.close();

  const day = 86_400_000;
  const old = { ...listed, revokedMs: Date.now() - 91 * day };
  const recent = { ...listed, revokedMs: Date.now() - 89 * day };
  assert.deepEqual(findRemovableKeys([old, recent], Date.now()), [old]);
  const many = Array.from({ length: 1_002 }, (_, age) => ({ ...listed, revokedMs: 9e12 - age }));
  assert.deepEqual(findRemovableKeys(many, 9e12), many.slice(1_000));
});

test('keys that were revoked long ago leave the store with later revocations', async () => {
  const data = place();
  const store = await openEmbeddedKeys(data);
  const terms = { label: '', budget: undefined, expiresMs: undefined };
  const ids = [1, 2, 3, 4].map(() => store.create(terms).id);
  const [last, ...others] = ids;
  const keys = store.all().filter(({ id }) => id !== last);
  store.restore(keys.map((key) => ({ ...key, secrets: [], revokedMs: 1 })));
  assert.deepEqual(
    (await store.list()).map(({ id }) => id),
    [last],
  );
  const { id: next } = store.create(terms);
  assert.equal(await countRecords(data), others.length + 2);
  store.revoke(last);
  assert.equal(await countRecords(data), others.length);
  store.revoke(next);
  assert.equal(await countRecords(data), 2);
  assert.deepEqual(store.faults, []);
  await store.close();
});
