/** Writes files whole and durably. */

import { type FileHandle, open } from 'node:fs/promises';

/** Loops: on a nearly full disk a write is partial, and only the next one fails. */
export async function writeAll(file: FileHandle, bytes: Uint8Array, offset: number): Promise<void> {
  for (let written = 0; written < bytes.length; ) {
    const rest = bytes.length - written;
    const { bytesWritten } = await file.write(bytes, written, rest, offset + written);
    written += bytesWritten;
  }
}

/** Makes new and renamed files of a folder durable. */
export async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
