/** A count for each key: how much of a shared resource the key uses. */

export class KeyCounts {
  readonly #counts = new Map<string, number>();

  of(keyId: string): number {
    return this.#counts.get(keyId) ?? 0;
  }

  change(keyId: string, change: 1 | -1): void {
    const count = this.of(keyId) + change;
    if (count === 0) this.#counts.delete(keyId);
    else this.#counts.set(keyId, count);
  }
}
