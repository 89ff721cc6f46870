/**
 * Measures what the past costs, compared with the present, LMDB and the ledger in the same run:
 *
 *   npm run bench:history            12,000 blocks, 270,000 versions of accounts, two minutes
 *   npm run bench:history -- 45000   a million versions, ten minutes
 */

import { rmSync, statSync } from 'node:fs';
import path from 'node:path';
import { open } from 'lmdb';
import { type Archive, openArchive } from '../../src/archive/reading/archive.ts';
import { ArchivedHistory } from '../../src/archive/reading/archived-history.ts';
import { archiveFolder } from '../../src/archive/records/archive-tables.ts';
import { updateArchive } from '../../src/archive/writing/update-archive.ts';
import { formatAddress } from '../../src/exact/address.ts';
import { BlockWriter } from '../../src/feed/block-writer.ts';
import { createNdjsonFeed } from '../../src/feed/ndjson.ts';
import type { ArchiveSteps } from '../../src/info/archive/archive-answer.ts';
import { askAtMoment } from '../../src/info/archive-question.ts';
import type { ArchiveQuestion } from '../../src/info/question.ts';
import { answerQuestion, parseQuestion, readQuestion } from '../../src/info/read-question.ts';
import { openEmbeddedLedgerWriter } from '../../src/ledger/embedded/embedded-writer.ts';
import { type Replica, restoreReplica } from '../../src/replica/replica.ts';
import { SnapshotFolder } from '../../src/replica/snapshot-folder.ts';
import { openStorage, type Storage } from '../../src/replica/storage.ts';
import { Random } from '../../src/simulator/random.ts';
import { createSimulator } from '../../src/simulator/simulator.ts';
import { FOLDER_ONLY } from '../../tools/harness/data-directory.ts';
import { runBench } from '../frame/frame.ts';
import { compare } from '../frame/measure.ts';
import { atLeast, atMost, comparedAtMost, type Goal } from '../frame/report.ts';
import { benchArchiveMemory } from './archive-memory.ts';

const BLOCKS_DEFAULT = 12_000;
const ACCOUNTS = 2_000;
const QUESTIONS = 5_000;
const POINTS = 365;
const SERIES = 20;
const CAUGHT_UP_ACCOUNTS = 400_000;

async function writeLedger(data: string, blocks: number): Promise<number> {
  const simulator = createSimulator({ seed: 'history', accounts: ACCOUNTS });
  const ledger = await openEmbeddedLedgerWriter(data);
  let bytes = 0;
  function* read() {
    for (let block = 0; block < blocks; block++) {
      const line = Buffer.from(`${simulator.next()}\n`);
      bytes += line.length;
      yield line;
    }
  }
  const snapshots = new SnapshotFolder(data);
  const warn = (message: string) => console.log(message);
  const replica = await restoreReplica({ ledger, snapshots, warn });
  const retention = { snapshotEvery: 1_000_000, snapshotKeep: 10 };
  const writer = new BlockWriter({ ledger, replica, snapshots, ...retention, aheadMsMax: 0, warn });
  const feed = createNdjsonFeed({
    name: 'simulator',
    lineBytesMax: 1 << 20,
    read: async function* () {
      yield* read();
    },
  });
  await writer.run(feed, new AbortController().signal);
  await ledger.close();
  return bytes;
}

const SILENT = { warn: () => undefined, progress: () => undefined };

async function replay(storage: Storage): Promise<{ replica: Replica; seconds: number }> {
  const before = process.cpuUsage();
  const replica = await restoreReplica({ ...storage, warn: () => undefined });
  return { replica, seconds: secondsSince(before) };
}

async function archive(data: string, storage: Storage): Promise<number> {
  const before = process.cpuUsage();
  const { signal } = new AbortController();
  await updateArchive({ data, storage, days: undefined, signal, isOnce: true, ...SILENT });
  return secondsSince(before);
}

const ROUNDS = 3;

/**
 * Measures an archiver and a replay in turns. The first turn does not count, because the engine
 * still compiles the code.
 */
async function benchArchiver(data: string, storage: Storage) {
  const rates: number[] = [];
  let { replica } = await replay(storage);
  await archive(data, storage);
  for (let round = 0; round < ROUNDS; round++) {
    rmSync(archiveFolder(data), { recursive: true });
    const replayed = await replay(storage);
    replica = replayed.replica;
    rates.push(replayed.seconds / (await archive(data, storage)));
  }
  return { replica, goal: atLeast('rate of the archiver / of a replay', 0.5, rates) };
}

function secondsSince(before: NodeJS.CpuUsage): number {
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1e6;
}

function finish(steps: ArchiveSteps): string {
  for (;;) {
    const step = steps.next();
    if (step.done === true) return String(step.value.body);
  }
}

/**
 * Compares answers about random accounts at random heights with answers about the same accounts
 * now. Both include reading the question.
 */
function benchAnswers(opened: Archive, { state }: Replica): Goal {
  const history = new ArchivedHistory(opened);
  const random = new Random('answers');
  const questions = Array.from({ length: QUESTIONS }, () => ({
    type: 'clearinghouseState',
    user: formatAddress(state.addresses.addressOf(1 + random.below(ACCOUNTS))),
    height: 1 + random.below(state.height),
  }));
  const result = compare(
    () => {
      opened.refresh();
      for (const { height, ...question } of questions) {
        const past = askAtMoment(parseQuestion(question), { height });
        Buffer.byteLength(finish(past.answer(history)));
      }
    },
    () => {
      for (const question of questions) Buffer.byteLength(answerQuestion(state, question));
    },
  );
  console.log(`${((result.ours / QUESTIONS) * 1e6).toFixed(1)} µs an answer of the past`);
  return comparedAtMost('compute an answer of the past / of the present', 5, result);
}

/** Compares series of 365 points with reading as many random values of a kilobyte from LMDB. */
function benchSeries(opened: Archive, { state }: Replica, folder: string): Goal {
  const history = new ArchivedHistory(opened);
  const { firstTime, lastTime } = history.range();
  const random = new Random('series');
  const step = Math.ceil((lastTime - firstTime) / (POINTS - 1));
  const questions = Array.from({ length: SERIES }, () => {
    const user = formatAddress(state.addresses.addressOf(1 + random.below(ACCOUNTS)));
    return readQuestion({ type: 'accountHistory', user, step });
  });
  const table = open<Buffer, number>({ path: path.join(folder, 'plain'), encoding: 'binary' });
  const values = 200_000;
  table.transactionSync(() => {
    for (let key = 0; key < values; key++) table.put(key, Buffer.alloc(1000, key));
  });
  const keys = Array.from({ length: SERIES * POINTS }, () => random.below(values));
  let points = 0;
  const result = compare(
    () => {
      points = 0;
      for (const question of questions) {
        if (!('answer' in question)) throw new Error('the question is refused');
        // The text "],[" is only between two rows, so this counts the points.
        points += finish((question as ArchiveQuestion).answer(history)).split('],[').length;
      }
    },
    () => {
      for (const key of keys) table.get(key);
    },
  );
  const microseconds = ((result.ours / points) * 1e6).toFixed(1);
  console.log(`${points / SERIES} points, ${microseconds} µs each`);
  void table.close();
  const figure = `a series of ${POINTS} points / as many random values from LMDB`;
  return comparedAtMost(figure, 3, result);
}

function countVersions(opened: Archive, { state }: Replica): number {
  let count = 0;
  for (let row = 1; row <= ACCOUNTS; row++) {
    const known = opened.findAddress(state.addresses.addressOf(row));
    for (const dexIndex of known?.dexes ?? []) {
      const all = { from: 1, to: state.height };
      for (const _version of opened.versionsOf(row, dexIndex, all)) count++;
    }
  }
  return count;
}

const blocks = Number(process.argv[2] ?? BLOCKS_DEFAULT);
await runBench(async ({ folder: data }) => {
  const bytes = await writeLedger(data, blocks);
  const storage = await openStorage({ ...FOLDER_ONLY, data });
  const { replica, goal } = await benchArchiver(data, storage);
  const { size } = statSync(path.join(archiveFolder(data), 'data.mdb'));
  const opened = await openArchive(data);
  if (opened === undefined) throw new Error('there is no archive');
  const versions = countVersions(opened, replica);
  const megabytes = (bytes / 1e6).toFixed(0);
  console.log(`${blocks} blocks, ${megabytes} MB of lines, ${versions} versions of accounts`);
  const goals = [
    goal,
    atMost("bytes of the archive / of the ledger's lines", 1, [size / bytes]),
    benchAnswers(opened, replica),
    benchSeries(opened, replica, data),
  ];
  await opened.close();
  await storage.close();
  const memory = await benchArchiveMemory(data, { accounts: CAUGHT_UP_ACCOUNTS, rounds: 3 });
  return [...goals, ...memory];
});
