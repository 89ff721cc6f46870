/**
 * Compares a durable append of a long file to the embedded ledger with parsing and applying its
 * lines in memory. Each side runs in a separate process, from the same state and on the same file:
 *
 *   node build/bench/service/append.js append DIR FILE
 *   node build/bench/service/append.js apply DIR FILE
 *
 * The last line of output is the result, as JSON.
 */

import { spawnSync } from 'node:child_process';
import { cpSync, createReadStream, createWriteStream, rmSync, statSync } from 'node:fs';
import path from 'node:path';
import { finished } from 'node:stream/promises';
import { fileURLToPath } from 'node:url';
import { parseBlock } from '../../src/events/event.ts';
import { BlockWriter } from '../../src/feed/block-writer.ts';
import { createNdjsonFeed, splitLines } from '../../src/feed/ndjson.ts';
import { openEmbeddedLedger } from '../../src/ledger/embedded/embedded-ledger.ts';
import { openEmbeddedLedgerWriter } from '../../src/ledger/embedded/embedded-writer.ts';
import type { Ledger } from '../../src/ledger/ledger.ts';
import { restoreReplica } from '../../src/replica/replica.ts';
import { SnapshotFolder } from '../../src/replica/snapshot-folder.ts';
import { applyBlock } from '../../src/state/fold.ts';
import { atMost, type Goal, printTable, ratiosIn, spreadIn } from '../frame/report.ts';
import { MovingMarket } from '../load/moving-market.ts';
import { buildLedger } from '../servers/dataset.ts';

const SCRIPT = fileURLToPath(import.meta.url);
const POSITIONS_PER_ACCOUNT = 4;
const EVENTS_A_BLOCK = 100;
/** The number of bytes that `perpinfo append FILE` reads at once. */
const CHUNK_BYTES = 1 << 20;
const LINE_BYTES_MAX = 1 << 20;

export interface AppendScale {
  readonly accounts: number;
  readonly blocks: number;
  readonly rounds: number;
}

interface Step {
  readonly seconds: number;
  readonly cpuSeconds: number;
  readonly batches: number;
}

/** Builds a ledger, and writes a file with the blocks that follow. */
async function prepare(directory: string, file: string, scale: AppendScale): Promise<void> {
  await buildLedger(directory, scale.accounts, POSITIONS_PER_ACCOUNT);
  const ledger = await openEmbeddedLedger(directory);
  const replica = await restore(directory, ledger);
  await ledger.close();
  const market = new MovingMarket(replica.state, 'append');
  const state = replica.release();
  const output = createWriteStream(file);
  for (let count = 0; count < scale.blocks; count++) {
    const line = market.nextLine(EVENTS_A_BLOCK);
    applyBlock(state, parseBlock(line));
    output.write(`${line}\n`);
  }
  output.end();
  await finished(output);
}

function restore(directory: string, ledger: Ledger) {
  const snapshots = new SnapshotFolder(directory);
  return restoreReplica({ ledger, snapshots, warn: console.error });
}

function readChunks(file: string): AsyncIterable<Buffer> {
  return createReadStream(file, { highWaterMark: CHUNK_BYTES });
}

async function append(directory: string, file: string): Promise<Step> {
  const ledger = await openEmbeddedLedgerWriter(directory);
  const replica = await restore(directory, ledger);
  let batches = 0;
  const writer = new BlockWriter({
    ledger,
    replica,
    snapshots: new SnapshotFolder(directory),
    snapshotEvery: Number.MAX_SAFE_INTEGER,
    snapshotKeep: 1,
    aheadMsMax: 0,
    warn: console.error,
    durable: () => {
      batches++;
    },
  });
  const read = () => readChunks(file);
  const feed = createNdjsonFeed({ name: file, lineBytesMax: LINE_BYTES_MAX, read });
  const times = await timeOf(() => writer.run(feed, new AbortController().signal));
  await ledger.close();
  return { ...times, batches };
}

/** Reads and splits the file in the same way, and then only parses and applies the blocks. */
async function apply(directory: string, file: string): Promise<Step> {
  const ledger = await openEmbeddedLedger(directory);
  const state = (await restore(directory, ledger)).release();
  const times = await timeOf(async () => {
    for await (const lines of splitLines(readChunks(file), LINE_BYTES_MAX)) {
      for (const { line } of lines) applyBlock(state, parseBlock(line.toString('utf8')));
    }
  });
  await ledger.close();
  return { ...times, batches: 0 };
}

async function timeOf(work: () => Promise<void>) {
  const cpuBefore = process.cpuUsage();
  const startedMs = performance.now();
  await work();
  const seconds = (performance.now() - startedMs) / 1000;
  const { user, system } = process.cpuUsage(cpuBefore);
  return { seconds, cpuSeconds: (user + system) / 1e6 };
}

function runStep(step: 'append' | 'apply', directory: string, file: string): Step {
  const { status, stdout } = spawnSync(process.execPath, [SCRIPT, step, directory, file], {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  if (status !== 0) throw new Error(`the step ${step} failed`);
  return JSON.parse(stdout.trim().split('\n').at(-1) ?? '');
}

/** Appends to a new copy of the ledger, because an append changes the ledger. */
function appendToCopy(directory: string, file: string): Step {
  const copy = `${directory}-copy`;
  cpSync(directory, copy, { recursive: true });
  try {
    return runStep('append', copy, file);
  } finally {
    rmSync(copy, { recursive: true });
  }
}

export async function benchAppend(folder: string, scale: AppendScale): Promise<Goal[]> {
  const directory = path.join(folder, 'append');
  const file = path.join(folder, 'append.ndjson');
  await prepare(directory, file, scale);
  const appended: Step[] = [];
  const applied: Step[] = [];
  for (let round = 0; round < scale.rounds; round++) {
    applied.push(runStep('apply', directory, file));
    appended.push(appendToCopy(directory, file));
  }
  const megabytes = (statSync(file).size / 1e6).toFixed(0);
  console.log(`${scale.blocks} blocks of ${EVENTS_A_BLOCK} events, ${megabytes} MB`);
  printSteps(applied, appended);
  const ratios = ratiosIn(appended, applied, 'seconds');
  return [atMost('append a long file, durable / parse and apply it', 2, ratios)];
}

function printSteps(applied: readonly Step[], appended: readonly Step[]): void {
  const describe = (name: string, steps: readonly Step[]) => [
    name,
    spreadIn(steps, 'seconds', 2),
    spreadIn(steps, 'cpuSeconds', 2),
    spreadIn(steps, 'batches', 0),
  ];
  const rows = [describe('parse and apply', applied), describe('append', appended)];
  printTable(['', 'seconds', 'seconds of cpu', 'acknowledgements'], rows);
}

if (process.argv[1] === SCRIPT) {
  const [step, directory, file] = process.argv.slice(2);
  const result = step === 'append' ? await append(directory, file) : await apply(directory, file);
  console.log(JSON.stringify(result));
}
