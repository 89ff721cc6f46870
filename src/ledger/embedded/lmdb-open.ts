/**
 * Opens an environment of LMDB, even while other processes open and close it.
 *
 * The last process that closes an environment destroys its locks. A process that opens the
 * environment at that moment believes that the locks are valid, and its first transaction fails.
 * The driver then leaves the environment open, and no process makes new locks while the environment
 * is open. So the environment is closed here before the next attempt.
 */

import { setTimeout as sleep } from 'node:timers/promises';
import type { RootDatabase, RootDatabaseOptionsWithPath } from 'lmdb';
import { isInvalidLock } from './disk-failure.ts';

const OPENINGS_MAX = 50;
/**
 * The mean pause between two attempts. The pause is random, so that two processes do not collide again
 * and again.
 */
const PAUSE_MS = 10;

/** `openAsClass` is not documented, so it may be missing in another version (docs/internals/private-hooks.md). */
type Driver = Pick<typeof import('lmdb'), 'open'> &
  Partial<Pick<typeof import('lmdb'), 'openAsClass'>>;

/** Opens an environment. The driver is loaded on first use, because not every command needs it. */
export async function openLmdb<V>(
  options: RootDatabaseOptionsWithPath,
  load: () => Promise<Driver> = () => import('lmdb'),
): Promise<RootDatabase<V, string>> {
  const driver = await load();
  for (let opening = 1; ; opening++) {
    try {
      return openOnce<V>(driver, options);
    } catch (error) {
      if (!isInvalidLock(error) || opening === OPENINGS_MAX) throw error;
    }
    await sleep(2 * PAUSE_MS * Math.random());
  }
}

/**
 * Does the same as the driver's `open`, in two steps: the second step fails if the locks are
 * destroyed. The driver's `open` would leave the environment open after a failure, and later
 * attempts would fail as well.
 */
function openOnce<V>(
  { open, openAsClass }: Driver,
  options: RootDatabaseOptionsWithPath,
): RootDatabase<V, string> {
  if (openAsClass === undefined) return open<V, string>(options);
  const Store = openAsClass<V, string>({ ...options }) as unknown as StoreClass<V>;
  try {
    return new Store(null, { isRoot: true, ...options });
  } catch (error) {
    Store.prototype.close?.call({ isRoot: true });
    throw error;
  }
}

interface StoreClass<V> {
  new (name: null, options: object): RootDatabase<V, string>;
  readonly prototype: { close?(this: { isRoot: boolean }): unknown };
}
