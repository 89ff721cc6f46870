/**
 * The order in which keys have their turns: one after the other, however much each of them asks. The items
 * of one key come in the order in which they were added.
 */

interface OfKey {
  readonly keyId: string;
}

export class TurnOrder<T extends OfKey> {
  /** The key whose turn is next comes first; none has an empty list. */
  readonly #byKey = new Map<string, T[]>();

  get isEmpty(): boolean {
    return this.#byKey.size === 0;
  }

  add(item: T): void {
    const items = this.#byKey.get(item.keyId);
    if (items === undefined) this.#byKey.set(item.keyId, [item]);
    else items.push(item);
  }

  /** Takes the next item of the next key, whose turn is then last again; undefined if there is none. */
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

  /** False if it is not there. */
  delete(item: T): boolean {
    const items = this.#byKey.get(item.keyId);
    const index = items?.indexOf(item) ?? -1;
    if (items === undefined || index === -1) return false;
    items.splice(index, 1);
    if (items.length === 0) this.#byKey.delete(item.keyId);
    return true;
  }
}
