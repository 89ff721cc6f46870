/** A process that takes steps on a ledger's database in a folder, and then kills itself. */

import { openLmdbLedgerStore } from '../../../src/ledger/embedded/lmdb-ledger-store.ts';
import { takeSteps } from './store-steps.ts';

const [, , folder, count] = process.argv;
const store = await openLmdbLedgerStore(folder, { readOnly: false });
if (store === undefined) throw new Error('no tables');
const outcome = await takeSteps(store, Number(count));
process.stdout.write(JSON.stringify({ outcome }), () => process.kill(process.pid, 'SIGKILL'));
