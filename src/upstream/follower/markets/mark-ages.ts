/**
 * Stores when marks were received. There are three sources of marks: an answer about a dex has all
 * marks of the dex; an answer about an account has the marks of its positions; and the push
 * connection delivers marks. After the connection has delivered all marks once, it keeps them
 * current: it pushes only changes, and marks that it does not repeat are unchanged.
 */

const NEVER_MS = Number.NEGATIVE_INFINITY;

export class MarkAges {
  /** When all marks of a dex were last received, by our clock. */
  readonly #dexMs = new Map<string, number>();
  readonly #coinMs = new Map<string, number>();
  /** The dexes whose marks the push connection keeps current. */
  readonly #pushedDexes = new Set<string>();
  #pushedMs = NEVER_MS;
  #forgottenMs = NEVER_MS;

  /** Notes that pushed marks may have changed without a message. */
  forgetPushed(nowMs: number): void {
    this.#forgottenMs = nowMs;
    this.#pushedDexes.clear();
  }

  /**
   * Notes that marks of these dexes were pushed; with `isWhole`, all marks of each dex. Other
   * frames keep a dex current if all its marks were received after the last gap of the connection.
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

  /**
   * Returns when marks were last pushed; returns -Infinity if the connection does not keep the dex
   * current.
   */
  pushedMs(dex: string): number {
    return this.#pushedDexes.has(dex) ? this.#pushedMs : NEVER_MS;
  }

  /**
   * Returns when all marks of the dex were last received; returns undefined if they were never
   * received.
   */
  dexMs(dex: string): number | undefined {
    return this.#dexMs.get(dex);
  }

  /**
   * Returns when the mark of a coin of the dex was last received; returns undefined if it was never
   * received.
   */
  coinMs(dex: string, coin: string): number | undefined {
    const [whole, own] = [this.#dexMs.get(dex), this.#coinMs.get(coin)];
    if (whole === undefined || own === undefined) return whole ?? own;
    return Math.max(whole, own);
  }
}
