/** `perpinfo archive`: writes the archive of a ledger, without a service. */

import { ARCHIVE_RETENTION_SETTINGS } from '../../archive/settings.ts';
import { TakeoverError } from '../../archive/writing/archive-owner.ts';
import { updateArchive } from '../../archive/writing/update-archive.ts';
import { UsageError } from '../../config/usage-error.ts';
import { SERVICE_WAIT, STORAGE_SETTINGS } from '../../ledger/settings.ts';
import { openStorage } from '../../replica/storage.ts';
import { TAKEN_OVER_EXIT_CODE } from '../../service/archiver-process.ts';
import { unlessStopped } from '../../service/stop-deadline.ts';
import type { Command } from '../command.ts';
import { warnIfOthersCanReadFolder } from '../permission-warnings.ts';
import { ARCHIVE_COMMAND_SETTINGS } from '../settings.ts';

const settings = {
  ...STORAGE_SETTINGS,
  ...ARCHIVE_RETENTION_SETTINGS,
  ...ARCHIVE_COMMAND_SETTINGS,
};

export const archive: Command<typeof settings> = {
  name: 'archive',
  summary: 'Writes an archive of the ledger, which answers questions about the past.',
  settings,
  details:
    'Writes what each block changed into the folder "archive" next to the ledger, continues where the\n' +
    'archive ends, and follows the ledger until it is stopped; with --once it stops at the newest\n' +
    'block. The archive depends on the ledger alone: if you delete the archive, it is built again from\n' +
    'the remaining blocks. One process at a time writes to it: if another process takes over, the exit\n' +
    'code is 3. "serve --archive" does the same in a separate process.',
  example: 'perpinfo archive --data ./data --once',
  isService: true,
  async run({ settings: chosen, terminal, signal }) {
    if (chosen.data === '') {
      throw new UsageError(['--data: got nothing, expected the folder for the archive']);
    }
    // If a service started this process, the service has already printed the warning.
    if (process.connected === undefined) warnIfOthersCanReadFolder(chosen.data, terminal);
    const orphaned = abortWithParent();
    const waiting = (message: string) => terminal.say(message);
    const stop = AbortSignal.any([signal, orphaned]);
    const storage = await unlessStopped(openStorage({ ...chosen, ...SERVICE_WAIT }, waiting), stop);
    let last = 0;
    try {
      await updateArchive({
        data: chosen.data,
        storage,
        days: chosen.archiveDays,
        signal: stop,
        isOnce: chosen.once,
        warn: (message) => terminal.say(`warning: ${message}`),
        progress: (height, head) => {
          last = height;
          const percent = head === 0 ? 100 : Math.floor((height / head) * 100);
          terminal.progress(() => `archiving: height ${height} of ${head} (${percent} %)`);
        },
      });
      terminal.say(`archived up to height ${last}`);
    } catch (error) {
      if (!(error instanceof TakeoverError)) throw error;
      terminal.say(error.message);
      process.exitCode = TAKEN_OVER_EXIT_CODE;
    } finally {
      await storage.close();
    }
  },
};

/**
 * Returns a signal that aborts when the service that started this process has ended, for any
 * reason.
 */
function abortWithParent(): AbortSignal {
  const orphaned = new AbortController();
  process.once('disconnect', () => orphaned.abort());
  // The service may have ended before the listener was added. `connected` is undefined if no
  // service started this process.
  if (process.connected === false) orphaned.abort();
  return orphaned.signal;
}
