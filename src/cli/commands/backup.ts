/** `perpinfo backup`: writes a ledger and its keys to one file. */

import { existsSync, realpathSync } from 'node:fs';
import path from 'node:path';
import { KeyError } from '../../access/keys.ts';
import { openKeysForReading } from '../../access/open-key-store.ts';
import { backUpLedger } from '../../backup/backup.ts';
import type { BackedUpKeys } from '../../backup/backup-format.ts';
import { BACKUP_SETTINGS } from '../../backup/settings.ts';
import { UsageError } from '../../config/usage-error.ts';
import { STORAGE_SETTINGS, type StorageSettings } from '../../ledger/settings.ts';
import { openStorage } from '../../replica/storage.ts';
import type { Command } from '../command.ts';
import { warnIfOthersCanReadFile } from '../permission-warnings.ts';
import { reportSteps } from '../replay-report.ts';

const settings = { ...STORAGE_SETTINGS, ...BACKUP_SETTINGS };

export const backup: Command<typeof settings> = {
  name: 'backup',
  summary: 'Backs up a ledger and its keys to one file, while it is written to.',
  settings,
  details:
    'Takes every block up to the newest one at the start. The file is read back and replayed before\n' +
    'it gets its name; until then it is FILE.part, and the same command continues it. If FILE is an\n' +
    'earlier backup of the same ledger, only newer blocks are read, and FILE is replaced in the end.\n' +
    'Keys are stored as hashes, never as secrets. Prints height, chain head and state digest.',
  example: 'perpinfo backup --data ./data --to /backups/exchange.backup',
  async run({ settings: chosen, terminal, signal }) {
    const file = chosen.backupTo;
    checkPlace(file, chosen.data);
    warnIfOthersCanReadFile(file, terminal);
    const storage = await openStorage(chosen);
    try {
      const keys = chosen.withoutKeys ? undefined : await readKeys(chosen);
      const done = await backUpLedger({
        source: storage,
        file,
        keys,
        ...reportSteps({ terminal, signal }),
      });
      const withKeys = keys === undefined ? 'without keys' : `with ${keys.length} keys`;
      terminal.say(
        `backed up ${done.addedBlocks} more blocks; ${file} has ${done.bytes} bytes, ${withKeys}`,
      );
      await terminal.write(`height ${done.height}\nhead   ${done.head}\ndigest ${done.digest}\n`);
    } finally {
      await storage.close();
    }
  },
};

/**
 * Refuses a backup inside the ledger's folder, because the backup would be lost together with the
 * folder.
 */
function checkPlace(file: string, data: string): void {
  const folder = path.dirname(path.resolve(file));
  if (!existsSync(folder)) throw new UsageError([`--to: there is no folder ${folder}`]);
  if (data === '' || !existsSync(data)) return;
  const place = path.relative(realpathSync(data), realpathSync(folder));
  const isInside = place === '' || !(place.startsWith('..') || path.isAbsolute(place));
  if (isInside) throw new UsageError([`--to: got ${file}, expected a file outside of ${data}`]);
}

async function readKeys(chosen: StorageSettings): Promise<BackedUpKeys> {
  const reader = await openKeysForReading(chosen);
  try {
    const keys = reader.all();
    if (reader.faults.length === 0) return keys;
    const message = `${reader.faults.join('; ')}; or back up with --without-keys`;
    throw new KeyError(message);
  } finally {
    await reader.close();
  }
}
