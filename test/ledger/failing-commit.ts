/**
 * Commits more with the real driver than the limit of its files allows: FOLDER [muted]. Prints the reason on
 * standard output; standard error has what the driver prints, and an error of this program.
 */

import { findReason } from '../../src/ledger/embedded/disk-failure.ts';
import { muteDriver } from '../../src/ledger/embedded/driver-output.ts';
import { openLmdb } from '../../src/ledger/embedded/lmdb-open.ts';

const TOO_MANY_BYTES = 1 << 20;
const [folder = '', isMuted] = process.argv.slice(2);

const store = await openLmdb<Buffer>({ path: folder, encoding: 'binary' });
if (isMuted === 'muted') muteDriver();
try {
  await store.put('key', Buffer.alloc(TOO_MANY_BYTES));
} catch (error) {
  process.stdout.write((await findReason(error)).message);
}
// biome-ignore lint/suspicious/noConsole: shows that only the driver is muted.
console.error(new Error('of this program'));
process.exit();
