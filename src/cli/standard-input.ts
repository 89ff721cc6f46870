/** Standard input as a source of bytes, for feeds. */

import { closeSync, openSync } from 'node:fs';
import { devNull } from 'node:os';
import { addAbortSignal } from 'node:stream';

const STANDARD_INPUT = 0;

/** Throws an AbortError at the signal. */
export function readStandardInput(signal: AbortSignal): AsyncIterable<Buffer> {
  return addAbortSignal(signal, process.stdin);
}

/**
 * Tells the program that writes to the pipe that nobody reads it any more. Node never closes this
 * descriptor itself. /dev/null takes its number, since a socket with that number would never be
 * closed.
 */
export function closeStandardInput(): void {
  process.stdin.destroy();
  closeSync(STANDARD_INPUT);
  openSync(devNull, 'r');
}
