/**
 * Handles pushed states that only confirm the ledger's account. To record a confirmation, the
 * ledger needs an event that has nothing but a time. So a confirmation is recorded rarely, or when
 * a client asks for it.
 */

import type { WireEvent } from '../../../events/event.ts';
import type { StateView } from '../../../state/state.ts';
import type { AccountRows } from '../../dialect/account-answer.ts';
import { findDifferences } from '../../dialect/account-events.ts';
import type { PendingChanges, RecordOutcome } from '../blocks/pending-changes.ts';
import { recordedTime } from './restored-items.ts';
import type { Watched } from './watch-list.ts';

/**
 * An unchanged account is recorded again if the ledger's time of it is this much older than the
 * pushed state.
 */
const BEHIND_MS_MAX = 30_000;

/**
 * Returns true if the pushed state only says that the ledger's account is unchanged, and the
 * ledger's time of the account is recent.
 */
export function isConfirmation(
  ledger: StateView,
  pending: PendingChanges,
  watched: Watched,
  rows: AccountRows,
): boolean {
  const known = recordedTime(ledger, watched);
  if (known === 0 || rows.time < watched.readTime || rows.time - known >= BEHIND_MS_MAX)
    return false;
  // A change that waits for a block may make the ledger's account different from the pushed state.
  if (pending.has(watched.key)) return false;
  return findDifferences(ledger, watched.address, rows).length === 0;
}

/**
 * Records the last confirmation. Returns undefined if there is no confirmation, or if a change of
 * the account waits to be recorded.
 */
export function recordConfirmation(
  ledger: StateView,
  pending: PendingChanges,
  watched: Watched,
): Promise<RecordOutcome> | undefined {
  const { key, item, readTime: time } = watched;
  const known = recordedTime(ledger, watched);
  if (item.kind !== 'account' || known === 0 || known >= time || pending.has(key)) return undefined;
  const { user, dex } = item;
  const describe = (state: StateView): WireEvent[] =>
    recordedTime(state, watched) < time ? [{ type: 'accountTime', user, dex, time }] : [];
  return pending.put(`${key} confirmed`, describe);
}
