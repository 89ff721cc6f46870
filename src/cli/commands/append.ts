/** `perpinfo append`: appends NDJSON blocks to a ledger. */

import { type FileHandle, open } from 'node:fs/promises';
import { addAbortSignal, type Readable } from 'node:stream';
import { UsageError } from '../../config/usage-error.ts';
import { BlockWriter } from '../../feed/block-writer.ts';
import type { Feed } from '../../feed/feed.ts';
import { createNdjsonFeed } from '../../feed/ndjson.ts';
import { FEED_SETTINGS } from '../../feed/settings.ts';
import { checkFeedSettings, writerOptionsOf } from '../../feed/writer-options.ts';
import { type Ledger, LedgerError, type LedgerWriter } from '../../ledger/ledger.ts';
import { SERVICE_WAIT } from '../../ledger/settings.ts';
import { EXPENSIVE_REPLAY_MS } from '../../replica/replayed-snapshot.ts';
import { restoreReplica } from '../../replica/replica.ts';
import { openStorageWriter, type Storage } from '../../replica/storage.ts';
import { checkStreamRoom } from '../../replica/stream-room.ts';
import { unlessStopped } from '../../service/stop-deadline.ts';
import type { Call, Command } from '../command.ts';
import { warnIfOthersCanReadFolder } from '../permission-warnings.ts';
import { reportReplay } from '../replay-report.ts';

const settings = FEED_SETTINGS;
type AppendCall = Call<typeof settings>;

const FILE_CHUNK_BYTES = 1 << 20;

export const append: Command<typeof settings> = {
  name: 'append',
  summary: 'Appends NDJSON blocks to the ledger; creates the ledger if there is none.',
  positional: {
    usage: '[FILE]',
    help: 'the blocks, one JSON object per line (default: standard input)',
    required: false,
  },
  settings,
  details:
    'Prints "durable HEIGHT" on standard output each time all blocks up to HEIGHT are on the disk,\n' +
    'or acknowledged by NATS JetStream.\n' +
    'Stops at the first invalid block, prints its line and the reason, and exits with code 1; the\n' +
    'blocks before it are stored. A ledger has one writer at a time. To append blocks with future\n' +
    'times, from a simulation for example, pass --ahead-max 0.',
  example: 'perpinfo simulate --blocks 1000 | perpinfo append --data ./data',
  async run(call) {
    checkFeedSettings(call.settings);
    const input = await openInput(call.positionals[0]);
    warnIfOthersCanReadFolder(call.settings.data, call.terminal);
    const waiting = (message: string) => call.terminal.say(message);
    const opening = openStorageWriter({ ...call.settings, ...SERVICE_WAIT }, waiting);
    const storage = await unlessStopped(opening, call.signal);
    try {
      await checkStreamRoom({ ...storage, ...call.settings, warn: waiting });
      await appendTo(storage, input, call);
    } finally {
      input.stream.destroy();
      await storage.close();
    }
  },
};

interface Input {
  readonly name: string;
  readonly stream: Readable;
  /** The number of bytes of the input file; undefined for standard input. */
  readonly totalBytes: number | undefined;
}

async function openInput(file: string | undefined): Promise<Input> {
  if (file === undefined) {
    return { name: 'standard input', stream: process.stdin, totalBytes: undefined };
  }
  const handle = await openFile(file);
  const stat = await handle.stat();
  if (stat.isDirectory()) throw new UsageError([`FILE: ${file} is a folder, expected a file`]);
  const stream = handle.createReadStream({ highWaterMark: FILE_CHUNK_BYTES });
  return { name: file, stream, totalBytes: stat.size };
}

async function openFile(file: string): Promise<FileHandle> {
  try {
    return await open(file);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    const reason = code === 'ENOENT' ? `there is no file ${file}` : `cannot read ${file} (${code})`;
    throw new UsageError([`FILE: ${reason}`]);
  }
}

function createInputFeed(
  { name, stream }: Input,
  lineBytesMax: number,
  count: (bytes: number) => void,
): Feed {
  async function* read(stop: AbortSignal) {
    for await (const chunk of addAbortSignal(stop, stream) as AsyncIterable<Buffer>) {
      count(chunk.length);
      yield chunk;
    }
  }
  return createNdjsonFeed({ name, lineBytesMax, read });
}

async function appendTo(
  { ledger, snapshots, shared }: Storage<LedgerWriter>,
  input: Input,
  { settings: chosen, terminal, signal }: AppendCall,
): Promise<void> {
  const report = reportReplay({ terminal, signal });
  const saveAfterMs = EXPENSIVE_REPLAY_MS;
  const replica = await restoreReplica({ ledger, snapshots, shared, saveAfterMs, ...report });
  const first = replica.point.height + 1;
  let bytesRead = 0;
  let durableHeight = replica.point.height;
  let storedHeight = 0;
  const feed = createInputFeed(input, chosen.blockBytesMax, (bytes) => {
    bytesRead += bytes;
    terminal.progress(() => describeProgress({ ...input, bytesRead, durableHeight }));
  });
  const durable = (height: number) => {
    durableHeight = height;
    terminal.printDurable(height);
  };
  const { warn } = report;
  const options = { ...writerOptionsOf(chosen), ledger, replica, snapshots, warn, durable };
  try {
    await new BlockWriter(options).run(feed, signal);
  } catch (error) {
    if (error instanceof LedgerError) storedHeight = await readHeight(ledger);
    throw error;
  } finally {
    terminal.say(describeResult(first, durableHeight, storedHeight));
  }
}

/**
 * Reads the height after a failure. A part of the failed batch may be stored, and the next append
 * continues after that part.
 */
async function readHeight(ledger: Ledger): Promise<number> {
  const head = await ledger.head().catch(() => undefined);
  return head?.height ?? 0;
}

function describeProgress(now: Input & { bytesRead: number; durableHeight: number }): string {
  const { totalBytes, bytesRead, durableHeight } = now;
  const mebibytes = (bytesRead / 2 ** 20).toFixed(1);
  const share = totalBytes ? ` (${Math.floor((bytesRead / totalBytes) * 100)} %)` : '';
  return `appending: ${mebibytes} MiB read${share}, durable up to height ${durableHeight}`;
}

function describeResult(first: number, last: number, stored: number): string {
  if (stored > last) {
    return `acknowledged up to height ${last}; the ledger is at height ${stored}: continue after that`;
  }
  const count = last - first + 1;
  if (count === 0) return `appended nothing; the ledger is at height ${last}`;
  const blocks = count === 1 ? 'block' : 'blocks';
  return `appended ${count} durable ${blocks}; the ledger is at height ${last}`;
}
