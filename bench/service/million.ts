/**
 * Runs one step of the measurements on a million accounts, in a separate process so that its memory
 * is separate, too:
 *
 *   node build/bench/service/million.js build DIR ACCOUNTS    writes ledger, snapshot and users
 *   node build/bench/service/million.js read DIR              reads the snapshot's bytes
 *   node build/bench/service/million.js replay DIR            restores the state from the blocks
 *   node build/bench/service/million.js load DIR              restores the state from the snapshot
 *   node build/bench/service/million.js answer DIR            compares with a small exchange
 *
 * The last line of output is the result, as JSON.
 */

import {
  closeSync,
  fstatSync,
  mkdtempSync,
  openSync,
  readSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { parseBlock } from '../../src/events/event.ts';
import { answerQuestion } from '../../src/info/read-question.ts';
import { openEmbeddedLedger } from '../../src/ledger/embedded/embedded-ledger.ts';
import { restoreReplica, stateDigest } from '../../src/replica/replica.ts';
import { SnapshotFolder } from '../../src/replica/snapshot-folder.ts';
import { applyBlock } from '../../src/state/fold.ts';
import { createState, type StateView } from '../../src/state/state.ts';
import { compare } from '../frame/measure.ts';
import { rssAnonMegabytes } from '../frame/process-usage.ts';
import { buildLedger, randomQuestions, setUpLines, usersOf } from '../servers/dataset.ts';

const POSITIONS_PER_ACCOUNT = 3;
const SMALL_ACCOUNTS = 1000;
const QUESTIONS = 50_000;
/** The number of users whose addresses are written for load generators. */
const USERS_KEPT = 100_000;
/** The number of bytes that are read at once, as for a snapshot. */
const PIECE_BYTES = 1 << 20;

async function build(directory: string, accounts: number) {
  const { state, bytes } = await buildLedger(directory, accounts, POSITIONS_PER_ACCOUNT);
  const users = usersOf(state);
  const stride = Math.max(1, Math.floor(users.length / USERS_KEPT));
  const kept = users.filter((_, index) => index % stride === 0);
  writeFileSync(path.join(directory, 'users.txt'), kept.join('\n'));
  return { height: state.height, bytes };
}

/**
 * Reads the snapshot's bytes into memory that is new to the process, as the memory of a state is.
 */
function read(directory: string) {
  const snapshots = new SnapshotFolder(directory);
  const file = openSync(snapshots.pathOf(snapshots.heights().at(-1) ?? 0), 'r');
  const start = performance.now();
  const bytes = Buffer.allocUnsafeSlow(fstatSync(file).size);
  let filled = 0;
  while (filled < bytes.length) {
    const length = Math.min(PIECE_BYTES, bytes.length - filled);
    filled += readSync(file, bytes, filled, length, null);
  }
  const seconds = (performance.now() - start) / 1000;
  closeSync(file);
  return { seconds, bytes: bytes.length };
}

/** Restores the state, and returns how long it took, and how much memory it needs. */
async function restore(directory: string, snapshots: SnapshotFolder) {
  const ledger = await openEmbeddedLedger(directory);
  const start = performance.now();
  const replica = await restoreReplica({
    ledger,
    snapshots,
    warn: (message) => console.error(message),
  });
  const seconds = (performance.now() - start) / 1000;
  const rssAnonBytes = rssAnonMegabytes(process.pid) * 1e6;
  await ledger.close();
  return { seconds, rssAnonBytes, digest: stateDigest(replica.state), ...countRows(replica.state) };
}

function countRows({ accounts, positions }: StateView) {
  return { accounts: accounts.rowCount - 1, positions: positions.rowCount - 1 };
}

async function answer(directory: string) {
  const ledger = await openEmbeddedLedger(directory);
  const snapshots = new SnapshotFolder(directory);
  const { state: large } = await restoreReplica({ ledger, snapshots, warn: console.error });
  const small = createState();
  for (const line of setUpLines(SMALL_ACCOUNTS, POSITIONS_PER_ACCOUNT)) {
    applyBlock(small, parseBlock(line));
  }
  const ask = (state: StateView) => {
    const questions = randomQuestions(state, QUESTIONS);
    return () => {
      for (const question of questions) answerQuestion(state, question);
    };
  };
  const comparison = compare(ask(large), ask(small));
  await ledger.close();
  return { ...comparison, questions: QUESTIONS };
}

async function run(step: string, directory: string, accounts: string): Promise<unknown> {
  if (step === 'build') return build(directory, Number(accounts));
  if (step === 'read') return read(directory);
  if (step === 'answer') return answer(directory);
  if (step === 'load') return restore(directory, new SnapshotFolder(directory));
  const empty = mkdtempSync(path.join(tmpdir(), 'perpinfo-bench-'));
  try {
    return await restore(directory, new SnapshotFolder(empty));
  } finally {
    rmSync(empty, { recursive: true });
  }
}

const [step, directory, accounts] = process.argv.slice(2);
console.log(JSON.stringify(await run(step, directory, accounts)));
