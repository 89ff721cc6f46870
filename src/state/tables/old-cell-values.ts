/**
 * A map from cells to their values before they were overwritten. It consists of shards: a single
 * Map of 100,000 entries would block the process for milliseconds whenever it grows.
 */

const SHARDS = 256;

export class OldCellValues {
  readonly #shards: (Map<number, number> | undefined)[] = new Array(SHARDS).fill(undefined);

  get(cell: number): number | undefined {
    return this.#shards[shardOf(cell)]?.get(cell);
  }

  setIfAbsent(cell: number, value: number): void {
    const index = shardOf(cell);
    let shard = this.#shards[index];
    if (shard === undefined) {
      shard = new Map();
      this.#shards[index] = shard;
    }
    if (!shard.has(cell)) shard.set(cell, value);
  }
}

/** The cells of a row are in the same shard, because they are read together. */
function shardOf(cell: number): number {
  return (cell >>> 3) % SHARDS;
}
