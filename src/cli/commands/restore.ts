/** `perpinfo restore`: restores a ledger and its keys from a backup file. */

import { restoreBackup } from '../../backup/restore.ts';
import { RESTORE_SETTINGS } from '../../backup/settings.ts';
import { UsageError } from '../../config/usage-error.ts';
import { BLOCK_SETTINGS } from '../../feed/settings.ts';
import { STORAGE_SETTINGS } from '../../ledger/settings.ts';
import type { Command } from '../command.ts';
import { warnIfOthersCanReadFolder } from '../permission-warnings.ts';
import { reportSteps } from '../replay-report.ts';

const settings = {
  data: STORAGE_SETTINGS.data,
  ...RESTORE_SETTINGS,
  blockBytesMax: BLOCK_SETTINGS.blockBytesMax,
};

export const restore: Command<typeof settings> = {
  name: 'restore',
  summary: 'Restores a ledger and its keys in a folder from a backup.',
  settings,
  details:
    'Checks the whole file first. Then adds the blocks, reads them back, replays them and compares the\n' +
    'state with that of the backup; until then no other command opens the ledger, and the same command\n' +
    'continues after an interruption. A folder with another ledger is refused; a folder with an earlier\n' +
    'restore gets the newer blocks. Keys are restored if the folder has none; keys that were revoked\n' +
    'after the backup work again. Prints height, chain head and state digest.',
  example: 'perpinfo restore --from /backups/exchange.backup --data ./data',
  async run({ settings: { data, backupFrom: file, blockBytesMax }, terminal, signal }) {
    if (data === '') {
      throw new UsageError([
        '--data DIR is required: restore to a folder, then copy it to NATS with perpinfo copy',
      ]);
    }
    warnIfOthersCanReadFolder(data, terminal);
    const done = await restoreBackup({
      ...{ file, data, blockBytesMax },
      ...reportSteps({ terminal, signal }),
    });
    terminal.say(`restored ${done.addedBlocks} blocks, ${describeKeys(done.addedKeys)}`);
    await terminal.write(`height ${done.height}\nhead   ${done.head}\ndigest ${done.digest}\n`);
  },
};

function describeKeys(count: number | undefined): string {
  return count === undefined ? 'and left the keys of the folder as they are' : `and ${count} keys`;
}
