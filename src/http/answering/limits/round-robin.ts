/**
 * A round-robin queue. Keys take turns, so a key with many items does not delay the other keys. The
 * items of one key are taken in the order in which they were added.
 */

interface OfKey {
  readonly keyId: string;
}

export class RoundRobin<T extends OfKey> {
  /**
   * The items of each key. The first key has the next turn. Keys without items are deleted. The
   * items of a key are in a Set, because a client that is gone deletes its items from any place in
   * a queue of thousands.
   */
  readonly #byKey = new Map<string, Set<T>>();

  get isEmpty(): boolean {
    return this.#byKey.size === 0;
  }

  add(item: T): void {
    const items = this.#byKey.get(item.keyId);
    if (items === undefined) this.#byKey.set(item.keyId, new Set([item]));
    else items.add(item);
  }

  /**
   * Takes the next item of the next key, and moves this key to the end of the queue. Skips keys
   * whose next item `mayCome` rejects. Returns undefined if no item is left.
   */
  take(mayCome: (keyId: string, item: T) => boolean = () => true): T | undefined {
    for (const [keyId, items] of this.#byKey) {
      const [item] = items;
      if (!mayCome(keyId, item)) continue;
      this.#byKey.delete(keyId);
      items.delete(item);
      if (items.size > 0) this.#byKey.set(keyId, items);
      return item;
    }
    return undefined;
  }

  /** Removes an item. Returns false if the item is not in the queue. */
  delete(item: T): boolean {
    const items = this.#byKey.get(item.keyId);
    if (items?.delete(item) !== true) return false;
    if (items.size === 0) this.#byKey.delete(item.keyId);
    return true;
  }
}
