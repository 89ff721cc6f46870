/** Writes all bytes of a file, and makes the files of a folder durable. */

import { type FileHandle, open } from 'node:fs/promises';

/**
 * Writes all bytes, in a loop: on a nearly full disk a write is partial, and only the next write
 * fails.
 */
export async function writeAll(file: FileHandle, bytes: Uint8Array, offset: number): Promise<void> {
  for (let written = 0; written < bytes.length; ) {
    const rest = bytes.length - written;
    const { bytesWritten } = await file.write(bytes, written, rest, offset + written);
    written += bytesWritten;
  }
}

/** Syncs a folder, so that new and renamed files in it survive a power cut. */
export async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
