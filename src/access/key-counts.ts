/** Counts by key: what each of them has of something that all share. */

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
