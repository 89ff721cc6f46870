/** Standard input as a source of bytes, for feeds. */

import { closeSync, openSync } from 'node:fs';
import { devNull } from 'node:os';
import { addAbortSignal } from 'node:stream';

const STANDARD_INPUT = 0;

/** Reads standard input; throws an AbortError when the signal aborts. */
export function readStandardInput(signal: AbortSignal): AsyncIterable<Buffer> {
  return addAbortSignal(signal, process.stdin);
}

/**
 * Closes the pipe, so that the program that writes to the pipe gets EPIPE. Node itself never closes
 * descriptor 0. Then opens /dev/null as descriptor 0, because Node would also never close a socket
 * with this number.
 */
export function closeStandardInput(): void {
  process.stdin.destroy();
  closeSync(STANDARD_INPUT);
  openSync(devNull, 'r');
}
