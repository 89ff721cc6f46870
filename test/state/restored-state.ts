/** A state as it is loaded from a snapshot of another state. */

import {
  allocateTables,
  decodeDescription,
  decodeState,
  encodeSnapshot,
} from '../../src/state/snapshot/snapshot.ts';
import type { State, StateView } from '../../src/state/state.ts';

export function restoreFromSnapshot(state: StateView): State {
  const snapshot = encodeSnapshot(state);
  // A piece is valid only until the next one is taken.
  const bytes = Buffer.concat(Array.from(snapshot.tables, (piece) => Buffer.from(piece)));
  const description = decodeDescription(snapshot.description);
  snapshot.release();
  const { tables, targets } = allocateTables(description);
  let start = 0;
  for (const target of targets) {
    target.set(bytes.subarray(start, start + target.length));
    start += target.length;
  }
  return decodeState(description, tables);
}
