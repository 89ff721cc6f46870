/**
 * How old marks are. An answer about a dex tells all of its marks. So does a connection that has pushed
 * them once: it pushes what changes, and what it does not repeat is as it was. The answer about an
 * account tells those of its positions.
 */

export class MarkAges {
  /** When the marks of a dex were last told as a whole, by our clock. */
  readonly #dexMs = new Map<string, number>();
  readonly #coinMs = new Map<string, number>();
  /** The dexes whose marks the push connection has brought as a whole. */
  readonly #pushedDexes = new Set<string>();
  #pushedMs = Number.NEGATIVE_INFINITY;

  /** What was pushed until now may have changed unseen. */
  notePushOpened(): void {
    this.#pushedDexes.clear();
  }

  /** Marks of these dexes were pushed: all of them if the message is whole. */
  notePushed(dexes: Iterable<string>, isWhole: boolean, nowMs: number): void {
    for (const dex of dexes) if (isWhole || this.#dexMs.has(dex)) this.#pushedDexes.add(dex);
    for (const dex of this.#pushedDexes) this.#dexMs.set(dex, nowMs);
    this.#pushedMs = nowMs;
  }

  noteAnswered(dex: string, nowMs: number): void {
    this.#dexMs.set(dex, nowMs);
  }

  noteOffered(coin: string, nowMs: number): void {
    this.#coinMs.set(coin, nowMs);
  }

  /** When marks of the dex were last pushed, if the connection pushes them. */
  pushedMs(dex: string): number {
    return this.#pushedDexes.has(dex) ? this.#pushedMs : Number.NEGATIVE_INFINITY;
  }

  /** When the marks of the dex were last told as a whole; undefined if they never were. */
  dexMs(dex: string): number | undefined {
    return this.#dexMs.get(dex);
  }

  /** When the mark of a coin of the dex was last told; undefined if it never was. */
  coinMs(dex: string, coin: string): number | undefined {
    const [whole, own] = [this.#dexMs.get(dex), this.#coinMs.get(coin)];
    if (whole === undefined || own === undefined) return whole ?? own;
    return Math.max(whole, own);
  }
}
