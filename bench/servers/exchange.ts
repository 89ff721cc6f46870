/** The exchange with which the service is measured, and the key that asks it. */

import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { openEmbeddedKeys } from '../../src/access/embedded/embedded-keys.ts';
import type { Budget } from '../../src/config/budget.ts';
import type { StateView } from '../../src/state/state.ts';
import { buildLedger, findTypicalAnswer, usersOf } from './dataset.ts';

export const POSITIONS_PER_ACCOUNT = 4;
/** A budget that is charged but never spent. */
const BUDGET: Budget = { weight: 1_000_000_000, periodMs: 1000 };
/** Flags of the service that prevent refusals on a busy machine, which are not what is measured. */
export const PATIENCE = ['--overload-delay', '60000'];

/** The data that all measurements of the service have in common. */
export interface Exchange {
  /** The data directory. It also has the other files that a run needs. */
  readonly folder: string;
  /** The state when the exchange was built, before its writer continues. */
  readonly state: StateView;
  readonly users: readonly string[];
  /** The path to which questions are sent, with a key that has a budget. */
  readonly requestPath: string;
  /** An answer of typical length, and the file that contains it. */
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
