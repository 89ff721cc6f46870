/** Opens and closes a ledger for reading, again and again: opener.js FOLDER ROUNDS. */

import { openEmbeddedLedger } from '../../src/ledger/embedded/embedded-ledger.ts';

const [folder, rounds] = process.argv.slice(2);
for (let round = 0; round < Number(rounds); round++) {
  const ledger = await openEmbeddedLedger(folder);
  await ledger.height();
  await ledger.close();
}
