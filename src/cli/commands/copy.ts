/** `perpinfo copy`: copies a ledger between a folder and NATS JetStream. */

import type { LedgerWriter } from '../../ledger/ledger.ts';
import { LEDGER_WRITER_SETTINGS } from '../../ledger/settings.ts';
import { copyLedger } from '../../replica/ledger-copy.ts';
import { openStorage, openStorageWriter, type Storage } from '../../replica/storage.ts';
import type { Call, Command } from '../command.ts';
import { reportReplay } from '../replay-report.ts';
import { COPY_SETTINGS } from '../settings.ts';

const { data: _data, ledger: _ledger, ...nats } = LEDGER_WRITER_SETTINGS;
const settings = { ...COPY_SETTINGS, ...nats };
type CopyCall = Call<typeof settings>;

export const copy: Command<typeof settings> = {
  name: 'copy',
  summary: 'Copies a ledger between a folder and NATS JetStream, in either direction.',
  settings,
  details:
    'Continues where an earlier copy ended. At the end the copy is read back: every hash is checked,\n' +
    'and the replayed state is compared with the original. Prints height, chain head and state\n' +
    'digest. Keys are not copied. The writer of the original must have stopped. With --until, blocks\n' +
    'after that height are not read, so they may be damaged.',
  example: 'perpinfo copy --from ./data --to nats://127.0.0.1:4222/exchange',
  async run(call) {
    const { from, to, until: _, ...nats } = call.settings;
    // Opens the source first to check that it exists, because opening the target creates the
    // target. The source is closed again: if both are the same folder, LMDB requires that the
    // writer is opened first.
    await (await openStorage({ ...nats, ...from })).close();
    const target = await openStorageWriter({ ...nats, ...to });
    try {
      const source = await openStorage({ ...nats, ...from });
      try {
        await copyStorage(source, target, call);
      } finally {
        await source.close();
      }
    } finally {
      await target.close();
    }
  },
};

async function copyStorage(
  source: Storage,
  target: Storage<LedgerWriter>,
  { settings: { until }, terminal, signal }: CopyCall,
): Promise<void> {
  const { head, digest, copiedBlocks } = await copyLedger({
    source,
    target,
    until,
    ...reportReplay({ terminal, signal }),
    copying(step, height, end) {
      signal.throwIfAborted();
      const percent = Math.floor((height / end) * 100);
      terminal.progress(() => `${step}: height ${height} of ${end} (${percent} %)`);
    },
  });
  terminal.say(`copied ${copiedBlocks} blocks; the copy is the same as the original`);
  const hash = head.hash.toString('hex');
  await terminal.write(`height ${head.height}\nhead   ${hash}\ndigest ${digest}\n`);
}
