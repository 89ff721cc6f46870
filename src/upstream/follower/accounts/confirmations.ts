/**
 * States that are pushed again and again, and only confirm what the ledger has. Each would take a
 * block's event for its time alone, so a confirmation is recorded seldom, or when a client wants it.
 */

import type { WireEvent } from '../../../events/event.ts';
import type { StateView } from '../../../state/state.ts';
import type { AccountRows } from '../../dialect/account-answer.ts';
import { findDifferences } from '../../dialect/account-events.ts';
import type { PendingChanges, RecordOutcome } from '../blocks/pending-changes.ts';
import { recordedTime } from './restored-items.ts';
import type { Watched } from './watch-list.ts';

/** How far the ledger's time of an unchanged account may be behind the last pushed state. */
const BEHIND_MS_MAX = 30_000;

/** Whether the state says nothing but that the ledger's account is as it was a moment ago. */
export function isConfirmation(
  ledger: StateView,
  pending: PendingChanges,
  watched: Watched,
  rows: AccountRows,
): boolean {
  const known = recordedTime(ledger, watched);
  if (known === 0 || rows.time < watched.readTime || rows.time - known >= BEHIND_MS_MAX)
    return false;
  // What waits for a block may differ from the ledger.
  if (pending.has(watched.key)) return false;
  return findDifferences(ledger, watched.address, rows).length === 0;
}

/** Records the last confirmation; undefined without one, or while a change waits to be recorded. */
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
