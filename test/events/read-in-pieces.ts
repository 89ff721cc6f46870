/** Reads a line in pieces, as a replica does. */

import assert from 'node:assert/strict';
import { type PieceEvent, splitBlock } from '../../src/events/block-pieces.ts';
import type { BlockHead } from '../../src/events/event.ts';
import { BlockError, Refusal } from '../../src/events/refusal.ts';

interface ReadInPieces extends BlockHead {
  readonly pieces: readonly (readonly PieceEvent[])[];
}

/** Undefined where the line is left to the whole parser. */
export function readInPieces(line: string): ReadInPieces | undefined {
  try {
    const cut = splitBlock(Buffer.from(line));
    return cut === undefined ? undefined : { ...cut, pieces: [...cut.pieces] };
  } catch (error) {
    assert.ok(isRefused(error), String(error));
    return undefined;
  }
}

function isRefused(error: unknown): boolean {
  return error instanceof SyntaxError || error instanceof Refusal || error instanceof BlockError;
}
