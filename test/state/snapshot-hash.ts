/** Hashes the bytes of a snapshot, including unreachable rows, which the digest leaves out. */

import { createHash } from 'node:crypto';
import { type EncodedSnapshot, encodeSnapshot } from '../../src/state/snapshot/snapshot.ts';
import type { StateView } from '../../src/state/state.ts';

export function hashSnapshot(state: StateView): string {
  const snapshot = encodeSnapshot(state);
  try {
    return hashEncoded(snapshot);
  } finally {
    snapshot.release();
  }
}

/** Calls `between` after each piece. */
export function hashEncoded(
  { description, tables }: EncodedSnapshot,
  between: () => void = () => undefined,
): string {
  const hash = createHash('sha256').update(description);
  for (const piece of tables) {
    hash.update(piece);
    between();
  }
  return hash.digest('hex');
}
