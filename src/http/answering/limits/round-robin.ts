/**
 * A round-robin queue: keys take turns, so a key that asks much does not delay the other keys. The items of
 * one key are taken in the order in which they were added.
 */

interface OfKey {
  readonly keyId: string;
}

export class RoundRobin<T extends OfKey> {
  /** The first key has the next turn. Keys without items are deleted. */
  readonly #byKey = new Map<string, T[]>();

  get isEmpty(): boolean {
    return this.#byKey.size === 0;
  }

  add(item: T): void {
    const items = this.#byKey.get(item.keyId);
    if (items === undefined) this.#byKey.set(item.keyId, [item]);
    else items.push(item);
  }

  /**
   * Takes the next item of the next key, and moves that key to the end of the queue. Skips keys whose next item
   * `mayCome` rejects; undefined if no item is left.
   */
  take(mayCome: (keyId: string, item: T) => boolean = () => true): T | undefined {
    for (const [keyId, items] of this.#byKey) {
      if (!mayCome(keyId, items[0])) continue;
      this.#byKey.delete(keyId);
      const item = items.shift();
      if (items.length > 0) this.#byKey.set(keyId, items);
      return item;
    }
    return undefined;
  }

  /** Removes an item. Returns false if the item is not in the queue. */
  delete(item: T): boolean {
    const items = this.#byKey.get(item.keyId);
    const index = items?.indexOf(item) ?? -1;
    if (items === undefined || index === -1) return false;
    items.splice(index, 1);
    if (items.length === 0) this.#byKey.delete(item.keyId);
    return true;
  }
}
