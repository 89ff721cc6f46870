/** `perpinfo verify`: checks every block and snapshot of a ledger. */

import { checkArchive } from '../../archive/archive-check.ts';
import { type Archive, openArchive } from '../../archive/reading/archive.ts';
import { describeRange, describeUnreplayable } from '../../archive/records/archive-range.ts';
import { archiveFolder, hasArchive } from '../../archive/records/archive-tables.ts';
import { adviseOnDamage } from '../../archive/records/damage-advice.ts';
import { requireOwnArchive } from '../../archive/records/ledger-match.ts';
import { type ChainPoint, LedgerError } from '../../ledger/ledger.ts';
import { STORAGE_SETTINGS } from '../../ledger/settings.ts';
import { EXPENSIVE_REPLAY_MS, saveReplayed } from '../../replica/replayed-snapshot.ts';
import { describePruning, restoreReplica } from '../../replica/replica.ts';
import { openStorage, type Storage } from '../../replica/storage.ts';
import { type VerifiedLedger, verifyLedger } from '../../replica/verification.ts';
import type { Call, Command } from '../command.ts';
import { reportReplay } from '../replay-report.ts';

const settings = STORAGE_SETTINGS;
type VerifyCall = Call<typeof settings>;

export const verify: Command<typeof settings> = {
  name: 'verify',
  summary: 'Checks every block of the ledger, and its snapshots and archive against the blocks.',
  settings,
  details:
    'Reads the whole ledger, checks each hash, replays every block and compares the state with\n' +
    'each snapshot. Prints height, chain head and state digest. Exits with code 1 if anything is wrong.\n' +
    'On a pruned ledger, checks the remaining blocks, and needs a snapshot to replay them from. Checks\n' +
    'every record of an archive, and the state at its last height. Saves a snapshot in a folder if the\n' +
    'replay took long.',
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

async function verifyStorage(storage: Storage, call: VerifyCall): Promise<void> {
  const { ledger, snapshots, shared } = storage;
  const { terminal, signal } = call;
  const { warn, progress } = reportReplay({ terminal, signal });
  const base = await ledger.base();
  // The blocks up to the base were pruned, so the replay needs a snapshot to start from.
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
  const { head, digest = 'unknown: pruned' } = verified;
  await terminal.write(
    `height ${head.height}\nhead   ${head.hash.toString('hex')}\ndigest ${digest}\n`,
  );
  refuseUnknownDigest(verified, base);
  await verifyArchive(storage, call);
  const { badSnapshots } = verified;
  if (badSnapshots.length === 0) return saveIfExpensive(storage, verified, warn);
  const heights = badSnapshots.join(', ');
  const message = `the blocks are valid, but the snapshots of height ${heights} are not: delete them`;
  throw new LedgerError('corrupt', message);
}

/**
 * Saves a snapshot after a long replay, because otherwise the next start would replay the same
 * blocks.
 */
async function saveIfExpensive(
  { snapshots, shared }: Storage,
  { head, state, replayMs }: VerifiedLedger,
  warn: (message: string) => void,
): Promise<void> {
  if (state === undefined || shared !== undefined || replayMs < EXPENSIVE_REPLAY_MS) return;
  await saveReplayed({ state, point: head }, { snapshots, warn });
}

/**
 * Throws if no block could be replayed: valid hashes do not prove that the blocks can be applied.
 */
function refuseUnknownDigest({ digest }: VerifiedLedger, base: ChainPoint): void {
  if (digest !== undefined) return;
  const message =
    `the hashes are valid, but no block could be replayed: no snapshot from height ${base.height} on ` +
    'is usable; save one of a service that still runs (perpinfo snapshot), or restore a backup';
  throw new LedgerError('missing', message);
}

/** Checks the archive, if there is one. */
async function verifyArchive(storage: Storage, call: VerifyCall): Promise<void> {
  const { data } = call.settings;
  if (data === '') return;
  await adviseOnDamage(data, () => verifyArchiveIn(data, storage, call));
}

async function verifyArchiveIn(data: string, storage: Storage, call: VerifyCall): Promise<void> {
  const archive = await openArchive(data);
  if (archive === undefined && hasArchive(data)) throw refuseIncomplete(data);
  if (archive === undefined) return;
  try {
    await compareArchive(archive, storage, call);
    await call.terminal.write(`archive ${describeRange(archive.range)}\n`);
  } finally {
    await archive.close();
  }
}

/**
 * Returns the error about an incomplete archive. A damaged archive without the record of its range
 * looks like an archive that was just created.
 */
function refuseIncomplete(data: string): LedgerError {
  const message =
    `the archive in ${archiveFolder(data)} is not complete: it is being created, was interrupted, ` +
    'or is damaged; "perpinfo archive" restarts it';
  return new LedgerError('corrupt', message);
}

async function compareArchive(
  archive: Archive,
  storage: Storage,
  { settings, terminal, signal }: VerifyCall,
): Promise<void> {
  const { head } = archive.range;
  const base = await storage.ledger.base();
  const unreplayable = describeUnreplayable(archive.range, base);
  if (unreplayable !== undefined) terminal.say(unreplayable);
  await requireOwnArchive(archive.range, storage, settings.data);
  if (head.height < base.height) {
    archive.checkRecords();
    return;
  }
  const report = reportReplay({ terminal, signal });
  const { state } = await restoreReplica({ ...storage, height: head.height, ...report });
  const progress = (done: number, of: number) => {
    signal.throwIfAborted();
    terminal.progress(() => `checking the archive: address ${done} of ${of}`);
  };
  checkArchive({ archive, state, progress });
}
