/** Chained blocks for a ledger, which does not parse their lines. */

import { CHAIN_START, nextBlock } from '../../src/ledger/hash-chain.ts';
import type { ChainPoint, StoredBlock } from '../../src/ledger/ledger.ts';

/** Chains the lines to a point. */
export function chainLines(
  lines: readonly (string | Buffer)[],
  start: ChainPoint = CHAIN_START,
): StoredBlock[] {
  let previous = start;
  return lines.map((line) => {
    const block = nextBlock(previous, Buffer.from(line));
    previous = block;
    return block;
  });
}

/** Short blocks with their height as text. */
export function chainOfLength(count: number, start: ChainPoint = CHAIN_START): StoredBlock[] {
  const lines = Array.from({ length: count }, (_, index) => `line ${start.height + 1 + index}`);
  return chainLines(lines, start);
}

/** Every block of a read, in one list. */
export async function collectBlocks(
  batches: AsyncIterable<readonly StoredBlock[]>,
): Promise<StoredBlock[]> {
  const blocks: StoredBlock[] = [];
  for await (const batch of batches) blocks.push(...batch);
  return blocks;
}

/** A block as text, so that a difference is readable. */
export function describeBlocks(blocks: readonly StoredBlock[]): string[] {
  return blocks.map(({ height, hash, line }) => {
    const shown = line.length <= 200 ? line.toString('latin1') : `${line.length} bytes`;
    return `${height} ${hash.toString('hex')} ${shown}`;
  });
}

export function heightsOf(blocks: readonly StoredBlock[]): number[] {
  return blocks.map(({ height }) => height);
}
