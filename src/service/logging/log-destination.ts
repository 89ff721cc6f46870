/**
 * The destination of pino's lines. With pino's default destination, a reader that stalls would
 * block the process, and the log would stay silent after the reader of a named pipe has ended. This
 * destination buffers the lines that cannot be written, and drops lines when the buffer is full.
 */

import { type DestinationStream, pino } from 'pino';

const UNWRITTEN_BYTES_MAX = 1 << 20;
/** The pause between attempts to write the buffered lines. */
const RETRY_MS = 100;

export function openDestination(fd: number): DestinationStream {
  const options = { fd, sync: true, maxLength: UNWRITTEN_BYTES_MAX, retryEAGAIN: () => false };
  const destination = pino.destination(options);
  let isRetrying = false;
  // The listener that pino adds stops all writing at the first EPIPE
  // (docs/internals/private-hooks.md).
  destination.removeAllListeners('error');
  destination.on('error', () => {
    if (isRetrying) return;
    isRetrying = true;
    setTimeout(() => {
      isRetrying = false;
      // Writes the buffered lines.
      destination.write('');
    }, RETRY_MS).unref();
  });
  return destination;
}
