/** Ledgers, their backups, and what comes back from them. */

import { type BackupOptions, backUpLedger, type FinishedBackup } from '../../src/backup/backup.ts';
import { type RestoredBackup, restoreBackup } from '../../src/backup/restore.ts';
import { openStorage } from '../../src/replica/storage.ts';
import { FOLDER_ONLY } from '../../tools/harness/data-directory.ts';

/** Progress that may throw, as a signal does. */
type Progress = (step: string, height: number) => void;

/** As `perpinfo backup` does, without the time that a process takes to start. */
export async function backUp(
  data: string,
  file: string,
  { keys, progress = () => undefined }: { keys?: BackupOptions['keys']; progress?: Progress } = {},
): Promise<FinishedBackup & { warnings: string[] }> {
  const source = await openStorage({ ...FOLDER_ONLY, data });
  const warnings: string[] = [];
  const warn = (message: string) => void warnings.push(message);
  try {
    return { ...(await backUpLedger({ source, file, keys, warn, progress })), warnings };
  } finally {
    await source.close();
  }
}

export function restore(
  file: string,
  data: string,
  progress: Progress = () => undefined,
): Promise<RestoredBackup> {
  return restoreBackup({ file, data, blockBytesMax: 1 << 20, warn: () => undefined, progress });
}
