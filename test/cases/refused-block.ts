/** What every refused block must leave behind: nothing, also if it is applied in pieces. */

import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { splitBlock } from '../../src/events/block-pieces.ts';
import { parseBlock } from '../../src/events/event.ts';
import { applyBlock, applyInPieces } from '../../src/state/fold.ts';
import { digestBytes } from '../../src/state/snapshot/digest.ts';
import type { State } from '../../src/state/state.ts';
import { hashSnapshot } from '../state/snapshot-hash.ts';

/** A hash of the digest and of the rows that the digest leaves out. */
export function hashState(state: State): string {
  const hash = createHash('sha256');
  for (const bytes of digestBytes(state)) hash.update(bytes);
  return hash.update(hashSnapshot(state)).digest('hex');
}

/** As a replica does: whole, if the line cannot be cut. */
function applyLongLine(state: State, line: string): void {
  const cut = splitBlock(Buffer.from(line));
  if (cut === undefined) applyBlock(state, parseBlock(line));
  else Array.from(applyInPieces(state, cut, cut.pieces));
}

/** In pieces the block is refused too, without a message. */
export function assertRefusedInPieces(state: State, hash: string, line: string): void {
  assert.throws(
    () => applyLongLine(state, line),
    (error) => /^(BlockError|Refusal|SyntaxError)$/.test((error as Error).name),
  );
  assert.equal(hashState(state), hash, 'the state has changed');
}
