/**
 * Steps on the database of the embedded ledger. A simulated and a real database must give the same
 * results, even if the process is killed between two steps.
 */

import type { LedgerStore } from '../../../src/ledger/embedded/ledger-store.ts';

type Step = (store: LedgerStore) => Promise<unknown>;

function record(height: number) {
  return { height, value: Buffer.from(`block ${height}`) };
}

export const STEPS: Readonly<Record<string, Step>> = {
  'a first guard': (store) => store.transact((changes) => changes.putGuard(1)),
  'two blocks': (store) => store.append([record(1), record(2)], { from: 1, to: 3 }),
  'a block at a guard that is elsewhere': (store) => store.append([record(9)], { from: 1, to: 2 }),
  'a flush': (store) => store.flush(),
  'a transaction that throws': (store) =>
    store
      .transact((changes) => {
        changes.putMeta('base', Buffer.from('lost'));
        throw new Error('thrown on purpose');
      })
      .catch(() => undefined),
  'an entry and a guard': (store) =>
    store.transact((changes) => {
      changes.putMeta('base', Buffer.from('kept'));
      changes.putGuard(3);
    }),
  'a third block': (store) => store.append([record(3)], { from: 3, to: 4 }),
  'the first block removed': (store) => store.transact((changes) => changes.removeBlock(1)),
  'an entry removed': (store) => store.transact((changes) => changes.removeMeta('base')),
};

/** Takes the first `count` steps, and returns the result of the last of these steps. */
export async function takeSteps(store: LedgerStore, count: number): Promise<unknown> {
  let outcome: unknown;
  for (const step of Object.values(STEPS).slice(0, count)) outcome = await step(store);
  return typeof outcome === 'boolean' ? outcome : undefined;
}

/** Returns everything that can be read from the store. */
export function describeStore(store: LedgerStore): unknown {
  store.refresh();
  const blocks = [...store.readBlocks(0, 100, 100)];
  return {
    blocks: blocks.map(({ height, value }) => `${height} ${value}`),
    limited: [...store.readBlocks(2, 100, 1)].map(({ height }) => height),
    heights: store.readHeights(2, 100),
    last: store.readLastBlock()?.height,
    second: store.readBlock(2)?.toString(),
    missing: store.readBlock(77),
    base: store.readMeta('base')?.toString(),
    guard: store.readGuard(),
  };
}
