/** `perpinfo prune`: deletes old blocks of a ledger in a folder. */

import { UsageError } from '../../config/usage-error.ts';
import { openEmbeddedLedger } from '../../ledger/embedded/embedded-ledger.ts';
import { openEmbeddedLedgerWriter } from '../../ledger/embedded/embedded-writer.ts';
import { STORAGE_SETTINGS } from '../../ledger/settings.ts';
import { type Pruned, pruneLedger, retentionOf } from '../../replica/retention.ts';
import { RETENTION_SETTINGS } from '../../replica/settings.ts';
import { SnapshotFolder } from '../../replica/snapshot-folder.ts';
import type { Command } from '../command.ts';

const settings = { data: STORAGE_SETTINGS.data, ...RETENTION_SETTINGS };

export const prune: Command<typeof settings> = {
  name: 'prune',
  summary: 'Deletes old blocks of the ledger in a folder.',
  settings,
  details:
    'Leaves every block after the oldest snapshot, so that the state can be replayed. Answers stay the same,\n' +
    'but --at no longer reaches earlier heights. The file does not shrink: new blocks reuse the space.\n' +
    'Stop the writer first; "append" and "serve --feed" prune while they run, with the same settings.\n' +
    'With both --keep-blocks and --keep-days, a block stays if one of them keeps it. If there is nothing\n' +
    'to delete, prints the reason and exits with code 0.',
  example: 'perpinfo prune --data ./data --keep-days 30',
  async run({ settings: chosen, terminal }) {
    const { data } = chosen;
    const retention = retentionOf(chosen);
    if (retention === undefined)
      throw new UsageError(['--keep-blocks N or --keep-days N is required']);
    if (data === '') {
      throw new UsageError([
        '--data DIR is required: a ledger on NATS is pruned by its stream (max_msgs, max_age)',
      ]);
    }
    // Checks that the ledger exists, because opening the ledger for writing would create it.
    await (await openEmbeddedLedger(data)).close();
    const ledger = await openEmbeddedLedgerWriter(data);
    try {
      const snapshots = new SnapshotFolder(data);
      const pruned = await pruneLedger({ ledger, snapshots, retention });
      await terminal.write(`${formatPruned(pruned)}\n`);
      const note = explain(pruned);
      if (note !== undefined) terminal.say(note);
    } finally {
      await ledger.close();
    }
  },
};

function formatPruned({ count, firstHeight }: Pruned): string {
  const blocks = count === 1 ? '1 block' : `${count} blocks`;
  return `pruned ${blocks}; the ledger starts at block ${firstHeight}`;
}

/** Explains why fewer blocks were deleted than requested. This is not a failure, because prune may be a daily job. */
function explain({ count, firstHeight, reason }: Pruned): string | undefined {
  if (count === 0) {
    return `nothing was pruned: ${reason ?? `the settings keep all blocks from ${firstHeight}`}`;
  }
  return reason === undefined ? undefined : `left more blocks than the settings keep: ${reason}`;
}
