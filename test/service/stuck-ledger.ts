/** The program on a ledger that hangs: calls of the method that the variable names never end. */

import { HTTP_LIMITS } from '../../src/http/limits.ts';
import { EmbeddedLedger } from '../../src/ledger/embedded/embedded-ledger.ts';
import { EmbeddedLedgerWriter } from '../../src/ledger/embedded/embedded-writer.ts';
import { LmdbFolder } from '../../src/ledger/embedded/lmdb-environment.ts';

export const STUCK_VARIABLE = 'STUCK_LEDGER_METHOD';
/** Absent where only the name of the variable is needed. */
const method = process.env[STUCK_VARIABLE];

/** On standard error, as soon as something hangs. */
export const STUCK_LINE = 'the ledger hangs';

/** How long requests in flight, or the feed, may take to end; the program waits longer. */
export const STOP_TIMEOUT_MS = 200;

function hang(): Promise<never> {
  process.stderr.write(`${STUCK_LINE}\n`);
  // As an open file or connection does, it keeps the process alive.
  return new Promise(() => setInterval(() => undefined, 1_000));
}

async function* hangAtFirst(): AsyncGenerator<never> {
  yield await hang();
}

if (method !== undefined) {
  Object.assign(HTTP_LIMITS, { stopTimeout: STOP_TIMEOUT_MS });
  if (method === 'open') LmdbFolder.open = hang;
  if (method === 'append') EmbeddedLedgerWriter.prototype.append = hang;
  if (method === 'read') EmbeddedLedger.prototype.read = hangAtFirst;
  await import('../../src/main.ts');
}
