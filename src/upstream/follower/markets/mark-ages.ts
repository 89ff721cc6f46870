/**
 * How old marks are. An answer about a dex tells all of its marks. So does a connection that has pushed
 * them once: it pushes what changes, and what it does not repeat is as it was. The answer about an
 * account tells those of its positions.
 */

const NEVER_MS = Number.NEGATIVE_INFINITY;

export class MarkAges {
  /** When the marks of a dex were last told as a whole, by our clock. */
  readonly #dexMs = new Map<string, number>();
  readonly #coinMs = new Map<string, number>();
  /** The dexes whose marks the push connection has brought as a whole. */
  readonly #pushedDexes = new Set<string>();
  #pushedMs = NEVER_MS;
  #forgottenMs = NEVER_MS;

  /** What was pushed until now may have changed unseen. */
  forgetPushed(nowMs: number): void {
    this.#forgottenMs = nowMs;
    this.#pushedDexes.clear();
  }

  /**
   * Marks of these dexes were pushed: all of them if the message is whole. Others complete what was
   * told as a whole since the connection can have missed nothing.
   */
  notePushed(dexes: Iterable<string>, isWhole: boolean, nowMs: number): void {
    for (const dex of dexes) {
      const isComplete = (this.#dexMs.get(dex) ?? NEVER_MS) > this.#forgottenMs;
      if (isWhole || isComplete) this.#pushedDexes.add(dex);
    }
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
    return this.#pushedDexes.has(dex) ? this.#pushedMs : NEVER_MS;
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
