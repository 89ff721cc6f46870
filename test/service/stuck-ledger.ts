/** The program on a ledger that hangs: calls of the method that the variable names never end. */

import { EmbeddedLedger } from '../../src/ledger/embedded/embedded-ledger.ts';
import { EmbeddedLedgerWriter } from '../../src/ledger/embedded/embedded-writer.ts';

export const STUCK_VARIABLE = 'STUCK_LEDGER_METHOD';
/** Absent where only the name of the variable is needed. */
const method = process.env[STUCK_VARIABLE];

/** On standard error, as soon as something hangs. */
export const STUCK_LINE = 'the ledger hangs';

function hang(): Promise<never> {
  process.stderr.write(`${STUCK_LINE}\n`);
  return new Promise(() => undefined);
}

async function* hangAtFirst(): AsyncGenerator<never> {
  yield await hang();
}

if (method !== undefined) {
  if (method === 'append') EmbeddedLedgerWriter.prototype.append = hang;
  if (method === 'read') EmbeddedLedger.prototype.read = hangAtFirst;
  await import('../../src/main.ts');
}
