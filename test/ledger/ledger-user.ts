/**
 * Another process on a ledger: not a test, but started by one.
 *
 *   write FOLDER [TIME]   opens a writer (at that time, in milliseconds) and holds it until SIGTERM
 *   append FOLDER         opens a writer and appends block after block until it is killed
 *   prune FOLDER HEIGHT TURNS   begins to prune, and kills itself after TURNS turns of the event loop
 *   follow FOLDER         opens a reader and prints each block as it comes
 *   reopen FOLDER         opens a reader and closes it again, and prints the height each time
 *
 * Prints "open" once the ledger is open, or the fault and why not.
 */

import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';
import { openEmbeddedLedger } from '../../src/ledger/embedded/embedded-ledger.ts';
import { openEmbeddedLedgerWriter } from '../../src/ledger/embedded/embedded-writer.ts';
import { CHAIN_START } from '../../src/ledger/hash-chain.ts';
import { type ChainPoint, LedgerError } from '../../src/ledger/ledger.ts';
import { chainOfLength, describeBlocks } from './chains.ts';

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}

async function write(folder: string, startTimeMs: number): Promise<void> {
  await sleep(Math.max(0, startTimeMs - Date.now()));
  const writer = await openEmbeddedLedgerWriter(folder);
  say('open');
  const forever = setInterval(() => undefined, 1000);
  process.once('SIGTERM', async () => {
    clearInterval(forever);
    await writer.close();
  });
}

async function append(folder: string): Promise<void> {
  const writer = await openEmbeddedLedgerWriter(folder);
  say('open');
  for (let head: ChainPoint = CHAIN_START; ; ) {
    const [block] = chainOfLength(1, head);
    await writer.append([block]);
    say(`durable ${block.height}`);
    head = block;
  }
}

async function prune(folder: string, height: number, turns: number): Promise<void> {
  const writer = await openEmbeddedLedgerWriter(folder);
  say('open');
  void writer.prune(height);
  for (let turn = 0; turn < turns; turn++) await nextTurn();
  process.kill(process.pid, 'SIGKILL');
}

async function follow(folder: string): Promise<void> {
  const reader = await openEmbeddedLedger(folder);
  say('open');
  for await (const batch of reader.follow(0, new AbortController().signal)) {
    for (const line of describeBlocks(batch)) say(line);
  }
}

async function reopen(folder: string): Promise<void> {
  for (;;) {
    const reader = await openEmbeddedLedger(folder);
    say(String(await reader.height()));
    await reader.close();
  }
}

const [task, folder, time = '0', turns = '0'] = process.argv.slice(2);
try {
  if (task === 'write') await write(folder, Number(time));
  if (task === 'append') await append(folder);
  if (task === 'prune') await prune(folder, Number(time), Number(turns));
  if (task === 'follow') await follow(folder);
  if (task === 'reopen') await reopen(folder);
} catch (error) {
  if (!(error instanceof LedgerError)) throw error;
  say(`${error.fault}: ${error.message}`);
}
