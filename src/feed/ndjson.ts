/**
 * NDJSON into the ledger: every line is applied to the writer's own state first, and only what
 * applies is stored. Lines that arrive together are stored together, with one acknowledgement, and
 * while they are being made durable the next ones are already applied.
 */

import { BlockError } from '../events/refusal.ts';
import type { StoredBlock } from '../ledger/ledger.ts';
import type { Replica } from '../replica/replica.ts';
import { checkClock } from './clock-check.ts';
import { Committer } from './committer.ts';
import { Upkeep, type UpkeepOptions } from './upkeep.ts';

const NEWLINE = 10;
/** Reading waits for the disk once this much is applied but not yet durable. */
const GATHERED_BYTES_MAX = 8 << 20;

/** The line of the input that was refused, counted from 1, and why. */
class LineError extends Error {
  readonly lineNumber: number;

  constructor(lineNumber: number, reason: string, options?: ErrorOptions) {
    super(`line ${lineNumber}: ${reason}`, options);
    this.name = 'LineError';
    this.lineNumber = lineNumber;
  }
}

interface NumberedLine {
  readonly number: number;
  readonly bytes: Buffer;
}

/**
 * The lines that each chunk completes. Blank ones are left out, but counted.
 *
 * @internal Exported for the benchmark of appending, which times it alone.
 */
export async function* splitLines(
  chunks: AsyncIterable<Buffer>,
  lineBytesMax: number,
): AsyncGenerator<NumberedLine[]> {
  let number = 0;
  let rest: Buffer[] = [];
  let restBytes = 0;
  const take = (end: Buffer): NumberedLine[] => {
    number++;
    const bytes = rest.length === 0 ? end : Buffer.concat([...rest, end]);
    rest = [];
    restBytes = 0;
    if (bytes.length > lineBytesMax) throw tooLong(number, lineBytesMax);
    return isBlank(bytes) ? [] : [{ number, bytes }];
  };
  for await (const chunk of chunks) {
    const lines: NumberedLine[] = [];
    let start = 0;
    for (let end = chunk.indexOf(NEWLINE); end !== -1; end = chunk.indexOf(NEWLINE, start)) {
      lines.push(...take(chunk.subarray(start, end)));
      start = end + 1;
    }
    if (start < chunk.length) rest.push(chunk.subarray(start));
    restBytes += chunk.length - start;
    if (lines.length > 0) yield lines;
    if (restBytes > lineBytesMax) throw tooLong(number + 1, lineBytesMax);
  }
  if (restBytes > 0) yield take(Buffer.alloc(0));
}

function tooLong(lineNumber: number, lineBytesMax: number): LineError {
  return new LineError(lineNumber, `longer than ${lineBytesMax} bytes, the limit for a block`);
}

function isBlank(bytes: Buffer): boolean {
  return bytes.every((byte) => byte === 32 || byte === 9 || byte === 13);
}

export interface AppendOptions extends UpkeepOptions {
  /**
   * Whoever gives them closes what they come from in the end: a store that fails ends the append
   * while the next chunk is still waited for.
   */
  readonly chunks: AsyncIterable<Buffer>;
  /** The state at the ledger's head. */
  readonly replica: Replica;
  readonly lineBytesMax: number;
  /** How far a block's time may be ahead of this machine's clock; 0 for any time. */
  readonly aheadMsMax: number;
  /** Called with the last height of each batch once it is durable. */
  durable(height: number): void;
}

/** The chunks for as long as batches can be stored; a batch that fails is thrown at once. */
async function* readWhileStored(
  chunks: AsyncIterable<Buffer>,
  committer: Committer,
): AsyncGenerator<Buffer> {
  const source = chunks[Symbol.asyncIterator]();
  for (;;) {
    const { done, value } = await committer.unlessFailed(source.next());
    if (done) return;
    yield value;
  }
}

/**
 * Appends every line. At the first bad one it stops with a LineError; the lines before it are then
 * durable, and nothing of it or after it is stored. At the first batch that cannot be stored it stops
 * with the ledger's error, also while it waits for input.
 */
export async function appendLines(options: AppendOptions): Promise<void> {
  const { chunks, ledger, replica, lineBytesMax } = options;
  const committer = new Committer(ledger, options.durable);
  const upkeep = new Upkeep(options);
  try {
    for await (const lines of splitLines(readWhileStored(chunks, committer), lineBytesMax)) {
      for (const line of lines) {
        committer.gather(extend(replica, line, options.aheadMsMax));
        if (upkeep.isDue(replica.point.height)) {
          await committer.settle();
          await upkeep.run(replica.state, replica.point);
        }
      }
      if (committer.gatheredBytes > GATHERED_BYTES_MAX) await committer.settle();
      else committer.start();
    }
  } finally {
    await committer.settle();
  }
}

function extend(replica: Replica, line: NumberedLine, aheadMsMax: number): StoredBlock {
  try {
    return replica.extend(line.bytes, (block) => checkClock(block, aheadMsMax, Date.now()));
  } catch (error) {
    if (!(error instanceof BlockError)) throw error;
    throw new LineError(line.number, error.message, { cause: error });
  }
}
