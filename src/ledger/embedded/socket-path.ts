/** Paths of sockets in a folder. */

import { closeSync, openSync } from 'node:fs';

/**
 * Calls `use` with a short path to the folder, through a file descriptor, because a socket's path
 * is limited to 108 bytes. Only Linux has such paths; on other systems, `use` gets the folder
 * itself.
 */
export async function withShortPath<T>(
  folder: string,
  use: (short: string) => Promise<T>,
): Promise<T> {
  if (process.platform !== 'linux') return use(folder);
  const handle = openSync(folder, 'r');
  try {
    return await use(`/proc/self/fd/${handle}`);
  } finally {
    closeSync(handle);
  }
}
