/**
 * Where pino writes its lines. A reader that stalls would block the process, and a named pipe whose reader
 * ends would silence the log for good. Lines that cannot be written are buffered; beyond the limit they are
 * dropped.
 */

import { type DestinationStream, pino } from 'pino';

const UNWRITTEN_BYTES_MAX = 1 << 20;
/** The pause between attempts to write the buffered lines. */
const RETRY_MS = 100;

export function openDestination(fd: number): DestinationStream {
  const options = { fd, sync: true, maxLength: UNWRITTEN_BYTES_MAX, retryEAGAIN: () => false };
  const destination = pino.destination(options);
  let isRetrying = false;
  // The listener that pino adds stops all writing at the first EPIPE (docs/internals/private-hooks.md).
  destination.removeAllListeners('error');
  destination.on('error', () => {
    if (isRetrying) return;
    isRetrying = true;
    setTimeout(() => {
      isRetrying = false;
      // Writes what is buffered.
      destination.write('');
    }, RETRY_MS).unref();
  });
  return destination;
}
