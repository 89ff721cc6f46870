/**
 * A round-robin queue: keys take turns, so a key that asks much does not delay the other keys. The items of
 * one key are taken in the order in which they were added.
 */

interface OfKey {
  readonly keyId: string;
}

export class RoundRobin<T extends OfKey> {
  /** The first key has the next turn. No list is empty. */
  readonly #byKey = new Map<string, T[]>();

  get isEmpty(): boolean {
    return this.#byKey.size === 0;
  }

  add(item: T): void {
    const items = this.#byKey.get(item.keyId);
    if (items === undefined) this.#byKey.set(item.keyId, [item]);
    else items.push(item);
  }

  /** Takes the next item of the next key, which then goes to the end of the queue; undefined if no item may come. */
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

  /** False if the item is not in the queue. */
  delete(item: T): boolean {
    const items = this.#byKey.get(item.keyId);
    const index = items?.indexOf(item) ?? -1;
    if (items === undefined || index === -1) return false;
    items.splice(index, 1);
    if (items.length === 0) this.#byKey.delete(item.keyId);
    return true;
  }
}
