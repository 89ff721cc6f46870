/**
 * Compares the memory of an archiver that catches up with the memory of a replay of the same blocks
 * without an archive. The blocks have short events that name many accounts, because these events
 * take far more memory than their bytes.
 */

import { spawn } from 'node:child_process';
import { rmSync } from 'node:fs';
import path from 'node:path';
import { Committer } from '../../src/feed/committer.ts';
import { openEmbeddedLedgerWriter } from '../../src/ledger/embedded/embedded-writer.ts';
import { CHAIN_START } from '../../src/ledger/hash-chain.ts';
import { Replica } from '../../src/replica/replica.ts';
import { createState } from '../../src/state/state.ts';
import { MAIN } from '../../tools/harness/paths.ts';
import { rssAnonMegabytes } from '../frame/process-usage.ts';
import { atMost, type Goal, printTable } from '../frame/report.ts';

const ACCOUNTS_OF_BLOCK = 5_000;
const FIRST_TIME = 1_758_556_800_000;
const SAMPLE_MS = 20;
const RATIO_MAX = 3;
const PENDING_BYTES_MAX = 8 << 20;

function formatBlock(height: number): Buffer {
  const first = (height - 1) * ACCOUNTS_OF_BLOCK;
  const events = Array.from({ length: ACCOUNTS_OF_BLOCK }, (_, index) => {
    const user = `0x${(first + index + 1).toString(16).padStart(40, '0')}`;
    return { type: 'transfer', user, dex: '', amount: '1.5' };
  });
  return Buffer.from(JSON.stringify({ height, time: FIRST_TIME + height, events }));
}

async function buildLedger(data: string, accounts: number): Promise<void> {
  const ledger = await openEmbeddedLedgerWriter(data);
  const replica = new Replica(createState(), CHAIN_START);
  const committer = new Committer(ledger, () => undefined);
  for (let height = 1; height * ACCOUNTS_OF_BLOCK <= accounts; height++) {
    committer.add(replica.extend(formatBlock(height)));
    if (committer.pendingBytes > PENDING_BYTES_MAX) await committer.flush();
  }
  await committer.flush();
  await ledger.close();
}

/** Returns the largest anonymous memory that a command used, in megabytes. */
async function measurePeak(...args: string[]): Promise<number> {
  const child = spawn(process.execPath, [MAIN, ...args], { stdio: 'ignore' });
  let peak = 0;
  const timer = setInterval(() => {
    if (child.pid === undefined || child.exitCode !== null) return;
    // The memory of a process that has ended is not a number, and counts as 0.
    peak = Math.max(peak, rssAnonMegabytes(child.pid) || 0);
  }, SAMPLE_MS);
  const code = await new Promise((resolve) => child.once('exit', resolve));
  clearInterval(timer);
  if (code !== 0) throw new Error(`perpinfo ${args[0]} ended with ${code}`);
  return peak;
}

export async function benchArchiveMemory(
  folder: string,
  { accounts, rounds }: { readonly accounts: number; readonly rounds: number },
): Promise<Goal[]> {
  const data = path.join(folder, 'archived');
  await buildLedger(data, accounts);
  const ratios: number[] = [];
  for (let round = 1; round <= rounds; round++) {
    rmSync(path.join(data, 'archive'), { recursive: true, force: true });
    const replayed = await measurePeak('verify', '--data', data);
    const archived = await measurePeak('archive', '--data', data, '--once');
    const row = [`${round}`, replayed.toFixed(0), archived.toFixed(0)];
    printTable([`${accounts} accounts, round`, 'replay, MB', 'archive --once, MB'], [row]);
    ratios.push(archived / replayed);
  }
  rmSync(data, { recursive: true });
  return [atMost('peak memory of an archiver that catches up / a replay', RATIO_MAX, ratios)];
}
