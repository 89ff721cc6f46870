/** The exchange that the service is measured on, and who asks it. */

import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { openEmbeddedKeys } from '../../src/access/embedded/embedded-keys.ts';
import type { Budget } from '../../src/config/budget.ts';
import type { StateView } from '../../src/state/state.ts';
import { buildLedger, findTypicalAnswer, usersOf } from './dataset.ts';

export const POSITIONS_PER_ACCOUNT = 4;
/** Is charged and never spent. */
const BUDGET: Budget = { weight: 1_000_000_000, periodMs: 1000 };
/** How a busy machine turns requests away is not what is measured. */
export const PATIENCE = ['--overload-delay', '60000'];

/** What all measurements of the service have in common. */
export interface Exchange {
  /** The data directory; whatever else a run needs is kept beside the ledger. */
  readonly folder: string;
  /** As it was built, before its writer goes on. */
  readonly state: StateView;
  readonly users: readonly string[];
  /** Where questions are asked, with a key that has a budget. */
  readonly requestPath: string;
  /** An answer of typical length, and the file that it is in. */
  readonly body: string;
  readonly bodyFile: string;
}

export async function createKey(directory: string, budget: Budget = BUDGET): Promise<string> {
  const store = await openEmbeddedKeys(directory);
  const { secret } = store.create({ label: 'bench', budget, expiresMs: undefined });
  await store.close();
  return secret;
}

export async function buildExchange(folder: string, accounts: number): Promise<Exchange> {
  const { state } = await buildLedger(folder, accounts, POSITIONS_PER_ACCOUNT);
  const body = findTypicalAnswer(state);
  const bodyFile = path.join(folder, 'body.json');
  writeFileSync(bodyFile, body);
  const requestPath = `/${await createKey(folder)}/info`;
  return { folder, state, users: usersOf(state), requestPath, body, bodyFile };
}

export function askForAccount(user: string): string {
  return `{"type":"clearinghouseState","user":"${user}"}`;
}
