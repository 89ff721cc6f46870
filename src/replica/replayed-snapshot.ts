/** Saves a snapshot after a long replay, so that the next start does not replay the same blocks. */

import type { ChainPoint } from '../ledger/ledger.ts';
import type { StateView } from '../state/state.ts';
import type { SnapshotFolder } from './snapshot-folder.ts';

/**
 * A replay that takes longer than this is expensive: a snapshot of a million accounts is saved and
 * loaded in less time.
 */
export const EXPENSIVE_REPLAY_MS = 5_000;

interface Replayed {
  readonly state: StateView;
  readonly point: ChainPoint;
}

interface SaveOptions {
  readonly snapshots: SnapshotFolder;
  /** Called if the snapshot was not saved, which costs the next start some time. */
  warn(message: string): void;
}

/** Saves the current state; no block may be applied before the promise resolves. Never rejects. */
export async function saveReplayed(
  { state, point }: Replayed,
  { snapshots, warn }: SaveOptions,
): Promise<void> {
  try {
    // Several workers finish the same replay at almost the same time, and only one of them needs to
    // save.
    if (!snapshots.isOurs() || (await snapshots.isWritten())) return;
    await snapshots.save(state, point.hash);
  } catch (error) {
    warn(`the snapshot of height ${point.height} was not saved: ${(error as Error).message}`);
  }
}
