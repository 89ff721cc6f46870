/** `perpinfo prune`: deletes old blocks of a ledger in a folder. */

import { UsageError } from '../config/usage-error.ts';
import { openEmbeddedLedger } from '../ledger/embedded/embedded-ledger.ts';
import { openEmbeddedLedgerWriter } from '../ledger/embedded/embedded-writer.ts';
import { type Pruned, pruneLedger, RETENTION_SETTINGS, retentionOf } from '../replica/retention.ts';
import { SnapshotFolder } from '../replica/snapshot-folder.ts';
import type { Command } from './command.ts';

const settings = ['data', ...RETENTION_SETTINGS] as const;

export const prune: Command<(typeof settings)[number]> = {
  name: 'prune',
  summary: 'Deletes old blocks of the ledger in a folder.',
  settings,
  details:
    'Never deletes past the oldest snapshot, which later blocks are replayed from. Answers stay the\n' +
    'same, but --at no longer reaches earlier heights. The file does not shrink: new blocks reuse the\n' +
    'space. The writer must have stopped; "append" and "serve --feed" prune while they run, with the\n' +
    'same settings. With both --keep-blocks and --keep-days, a block is kept for as long as either\n' +
    'says. Where there is nothing to delete, it says why, with exit code 0.',
  example: 'perpinfo prune --data ./data --keep-days 30',
  async run({ settings: chosen, terminal }) {
    const { data } = chosen;
    const retention = retentionOf(chosen);
    if (retention === undefined)
      throw new UsageError(['--keep-blocks N or --keep-days N is required']);
    if (data === '') {
      throw new UsageError([
        '--data DIR is required: a stream on NATS drops blocks by its own limits',
      ]);
    }
    // Checked first, since opening for writing creates a ledger.
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
  return `pruned ${blocks}; the first that is kept is block ${firstHeight}`;
}

/** Why less was deleted than asked for; not a failure, since prune may be a daily job. */
function explain({ count, firstHeight, reason }: Pruned): string | undefined {
  if (count === 0) {
    return `nothing was pruned: ${reason ?? `every block from ${firstHeight} on is to be kept`}`;
  }
  return reason === undefined ? undefined : `more is kept than was asked for: ${reason}`;
}
