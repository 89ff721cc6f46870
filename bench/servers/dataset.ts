/** The data of the benchmarks, which the simulator creates from a fixed seed. */

import { formatAddress } from '../../src/exact/address.ts';
import { Committer } from '../../src/feed/committer.ts';
import { answerQuestion } from '../../src/info/read-question.ts';
import { openEmbeddedLedgerWriter } from '../../src/ledger/embedded/embedded-writer.ts';
import { CHAIN_START } from '../../src/ledger/hash-chain.ts';
import { Replica } from '../../src/replica/replica.ts';
import { SnapshotFolder } from '../../src/replica/snapshot-folder.ts';
import { createSimulator } from '../../src/simulator/simulator.ts';
import { FIRST_ACCOUNT } from '../../src/state/addresses.ts';
import { createState, type StateView } from '../../src/state/state.ts';

const SEED = 'bench';
const PENDING_BYTES_MAX = 8 << 20;
const TYPICAL_SAMPLE = 1001;

/**
 * Returns the lines that set up an exchange with this number of accounts, and of positions in each
 * account.
 */
export function* setUpLines(accounts: number, positionsPerAccount: number): Generator<string> {
  const simulator = createSimulator({ seed: SEED, accounts, positionsPerAccount });
  while (!simulator.isSetUp) yield simulator.next();
}

/** Returns the first blocks of an exchange with trades. */
export function tradingLines(accounts: number, blocks: number): string[] {
  const simulator = createSimulator({ seed: SEED, accounts });
  return Array.from({ length: blocks }, () => simulator.next());
}

/** Writes the ledger of a new exchange to the folder, with a snapshot of its head. */
export async function buildLedger(
  directory: string,
  accounts: number,
  positionsPerAccount: number,
): Promise<{ state: StateView; bytes: number }> {
  const ledger = await openEmbeddedLedgerWriter(directory);
  const replica = new Replica(createState(), CHAIN_START);
  const committer = new Committer(ledger, () => undefined);
  let bytes = 0;
  for (const line of setUpLines(accounts, positionsPerAccount)) {
    bytes += line.length;
    committer.add(replica.extend(Buffer.from(line)));
    if (committer.pendingBytes > PENDING_BYTES_MAX) await committer.flush();
  }
  await committer.flush();
  await new SnapshotFolder(directory).save(replica.state, replica.point.hash);
  await ledger.close();
  return { state: replica.state, bytes };
}

/** Returns the users that have an account, in the order in which they first appeared. */
export function usersOf(state: StateView): string[] {
  const users: string[] = [];
  for (let row = 1; row < state.addresses.table.rowCount; row++) {
    if (state.addresses.table.get(row, FIRST_ACCOUNT) !== 0)
      users.push(formatAddress(state.addresses.addressOf(row)));
  }
  return users;
}

/** Returns questions about random users. The users are the same in every run. */
export function randomQuestions(state: StateView, count: number): unknown[] {
  const users = usersOf(state);
  let random = 1;
  return Array.from({ length: count }, () => {
    random = (Math.imul(random, 1664525) + 1013904223) >>> 0;
    const user = users[Math.floor((random / 2 ** 32) * users.length)];
    return { type: 'clearinghouseState', user };
  });
}

/** Returns the answer of median length among the answers about random users. */
export function findTypicalAnswer(state: StateView): string {
  const answers = randomQuestions(state, TYPICAL_SAMPLE).map((question) =>
    answerQuestion(state, question),
  );
  answers.sort((a, b) => a.length - b.length);
  return answers[Math.floor(answers.length / 2)];
}
