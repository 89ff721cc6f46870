/** `perpinfo verify`: checks every block and snapshot of a ledger. */

import { LedgerError } from '../ledger/ledger.ts';
import { STORAGE_SETTINGS } from '../ledger/location.ts';
import { describePruning } from '../replica/replica.ts';
import { openStorage, type Storage } from '../replica/storage.ts';
import { verifyLedger } from '../replica/verification.ts';
import type { Call, Command } from './command.ts';
import { reportReplay } from './replay-report.ts';

const settings = STORAGE_SETTINGS;
type VerifyCall = Call<(typeof settings)[number]>;

export const verify: Command<(typeof settings)[number]> = {
  name: 'verify',
  summary: 'Checks every block of the ledger, and every snapshot against the blocks.',
  settings,
  details:
    'Reads the whole ledger, checks each hash, replays every block and compares the state with\n' +
    'each snapshot. Prints height, chain head and state digest. Exits with code 1 if anything is wrong.\n' +
    'On a pruned ledger, checks the remaining blocks.',
  example: 'perpinfo verify --data ./data',
  async run(call) {
    const storage = await openStorage(call.settings);
    try {
      await verifyStorage(storage, call);
    } finally {
      await storage.close();
    }
  },
};

async function verifyStorage(
  { ledger, snapshots, shared }: Storage,
  { terminal, signal }: VerifyCall,
): Promise<void> {
  const { warn, progress } = reportReplay({ terminal, signal });
  const base = await ledger.base();
  // The blocks up to the base are gone: the replay needs a snapshot to start from.
  if (base.height > 0) {
    terminal.say(describePruning(base));
    const { height } = await ledger.head();
    await shared?.fetch({ ledger, snapshots, height, warn });
  }
  const verified = await verifyLedger({
    ledger,
    snapshots,
    warn: (message) => terminal.say(message),
    progress,
  });
  const { head, digest = 'unknown: pruned', badSnapshots } = verified;
  await terminal.write(
    `height ${head.height}\nhead   ${head.hash.toString('hex')}\ndigest ${digest}\n`,
  );
  if (badSnapshots.length === 0) return;
  const heights = badSnapshots.join(', ');
  const message = `the blocks are valid, but the snapshots of height ${heights} are not: delete them`;
  throw new LedgerError('corrupt', message);
}
