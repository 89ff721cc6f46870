/** Blocks as NDJSON: one JSON object per line. */

import { type Feed, type FeedBlock, FeedError } from './feed.ts';

const NEWLINE = 10;

export interface NdjsonOptions {
  readonly name: string;
  readonly lineBytesMax: number;
  /**
   * Reads the bytes. Throws an AbortError when the signal aborts, so that a partial line is not
   * yielded.
   */
  read(signal: AbortSignal): AsyncIterable<Buffer>;
}

export function createNdjsonFeed({ name, lineBytesMax, read }: NdjsonOptions): Feed {
  return {
    name,
    async *blocks(_start, signal) {
      yield* splitLines(read(signal), lineBytesMax);
    },
  };
}

/**
 * Yields, for each chunk, the lines that the chunk completes. Blank lines are skipped, but counted.
 *
 * @internal Exported for the benchmark of appending, which measures this function alone.
 */
export async function* splitLines(
  chunks: AsyncIterable<Buffer>,
  lineBytesMax: number,
): AsyncGenerator<FeedBlock[]> {
  let number = 0;
  let rest: Buffer[] = [];
  let restBytes = 0;
  const take = (end: Buffer): FeedBlock[] => {
    number++;
    const line = rest.length === 0 ? end : Buffer.concat([...rest, end]);
    rest = [];
    restBytes = 0;
    return isBlank(line) ? [] : [{ line, position: `line ${number}` }];
  };
  for await (const chunk of chunks) {
    const lines: FeedBlock[] = [];
    let start = 0;
    for (let end = chunk.indexOf(NEWLINE); end !== -1; end = chunk.indexOf(NEWLINE, start)) {
      if (restBytes + end - start > lineBytesMax) break;
      lines.push(...take(chunk.subarray(start, end)));
      start = end + 1;
    }
    if (start < chunk.length) rest.push(chunk.subarray(start));
    restBytes += chunk.length - start;
    // Lines before a line that is too long are still appended.
    if (lines.length > 0) yield lines;
    if (restBytes > lineBytesMax) throw tooLong(number + 1, lineBytesMax);
  }
  if (restBytes > 0) yield take(Buffer.alloc(0));
}

function tooLong(lineNumber: number, lineBytesMax: number): FeedError {
  const reason = `longer than ${lineBytesMax} bytes, the maximum size of a block (--block-bytes-max)`;
  return new FeedError(`line ${lineNumber}`, reason);
}

function isBlank(bytes: Buffer): boolean {
  return bytes.every((byte) => byte === 32 || byte === 9 || byte === 13);
}
