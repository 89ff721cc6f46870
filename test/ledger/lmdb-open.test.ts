/** That an environment is opened although other processes close it, with a driver that fails and with the real one. */

import assert from 'node:assert/strict';
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { openEmbeddedLedgerWriter } from '../../src/ledger/embedded/embedded-writer.ts';
import { openLmdb } from '../../src/ledger/embedded/lmdb-open.ts';
import { makeTemporaryFolder } from '../../tools/harness/temporary-folder.ts';
import { ALSO_LONG, scale } from '../scale.ts';

const INVALID = Object.assign(new Error('Invalid argument'), { code: 22 });

/** A driver whose first transactions fail. */
function createDriver(failures: number, failure: Error) {
  const counts = { opened: 0, closed: 0 };
  const openAsClass = () => {
    counts.opened++;
    class Store {
      readonly isOpen = true;
      constructor() {
        if (counts.opened <= failures) throw failure;
      }
      close(this: { isRoot: boolean }) {
        // The driver closes the environment itself only of its root.
        if (this.isRoot) counts.closed++;
      }
    }
    return Store;
  };
  return { counts, load: async () => ({ openAsClass }) as never };
}

const OPTIONS = { path: 'nowhere' };

test('an environment whose locks were destroyed is closed, and opened again', async () => {
  const { counts, load } = createDriver(3, INVALID);
  const { isOpen } = (await openLmdb(OPTIONS, load)) as unknown as { isOpen: boolean };
  assert.equal(isOpen, true);
  assert.deepEqual(counts, { opened: 4, closed: 3 });
});

test('but not for ever, and not after another failure', async () => {
  const never = createDriver(Number.POSITIVE_INFINITY, INVALID);
  await assert.rejects(openLmdb(OPTIONS, never.load), INVALID);
  assert.deepEqual(never.counts, { opened: 50, closed: 50 });
  const refusal = Object.assign(new Error('Permission denied'), { code: 13 });
  const refused = createDriver(1, refusal);
  await assert.rejects(openLmdb(OPTIONS, refused.load), refusal);
  assert.deepEqual(refused.counts, { opened: 1, closed: 1 });
});

test('a driver without the private parts opens in one step, and reports its own failure', async () => {
  const environment = {};
  const plain = async () => ({ open: () => environment }) as never;
  assert.equal(await openLmdb(OPTIONS, plain), environment);
  const { load } = createDriver(1, new Error('first failure'));
  const withoutClose = async () => {
    const { openAsClass } = (await load()) as { openAsClass(): { prototype: object } };
    return {
      openAsClass: () => {
        const Store = openAsClass();
        Reflect.deleteProperty(Store.prototype, 'close');
        return Store;
      },
    } as never;
  };
  await assert.rejects(openLmdb(OPTIONS, withoutClose), { message: 'first failure' });
});

test('this version of the driver has the private parts that opening needs', async (t) => {
  const { openAsClass } = await import('lmdb');
  assert.equal(typeof openAsClass, 'function');
  const Store = openAsClass({ path: await makeTemporaryFolder(t) }) as unknown as {
    prototype: { close: unknown };
  };
  assert.equal(typeof Store.prototype.close, 'function');
});

const OPENER = fileURLToPath(new URL('./opener.js', import.meta.url));
const OPENERS = 3;
const ROUNDS = scale(10, 150);

test('processes that open and close a ledger again and again never fail', ALSO_LONG, async (t) => {
  const folder = await makeTemporaryFolder(t);
  await (await openEmbeddedLedgerWriter(folder)).close();
  const openers = Array.from({ length: OPENERS }, () => fork(OPENER, [folder, String(ROUNDS)]));
  const codes = await Promise.all(openers.map((opener) => once(opener, 'exit')));
  assert.deepEqual(codes, new Array(OPENERS).fill([0, null]));
});
