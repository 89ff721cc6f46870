/**
 * Values by cell, remembered while others read or save what a block changes. A Map of a hundred thousand
 * entries takes milliseconds whenever it grows, and everybody waits for them; each of these is small.
 */

const SHARDS = 256;

export class CellValues {
  readonly #shards: (Map<number, number> | undefined)[] = new Array(SHARDS).fill(undefined);

  get(cell: number): number | undefined {
    return this.#shards[shardOf(cell)]?.get(cell);
  }

  /** Keeps the first value that a cell is given. */
  setFirst(cell: number, value: number): void {
    const index = shardOf(cell);
    let shard = this.#shards[index];
    if (shard === undefined) {
      shard = new Map();
      this.#shards[index] = shard;
    }
    if (!shard.has(cell)) shard.set(cell, value);
  }
}

/** The cells of a row are together: they are read together. */
function shardOf(cell: number): number {
  return (cell >>> 3) % SHARDS;
}
