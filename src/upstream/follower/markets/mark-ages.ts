/**
 * The ages of marks. An answer about a dex has all marks of the dex. A push connection that has
 * delivered all marks once keeps them current: it pushes changes, and marks that it does not repeat
 * are unchanged. An answer about an account has the marks of its positions.
 */

const NEVER_MS = Number.NEGATIVE_INFINITY;

export class MarkAges {
  /** When all marks of a dex were last received, by our clock. */
  readonly #dexMs = new Map<string, number>();
  readonly #coinMs = new Map<string, number>();
  /** The dexes of which the push connection has delivered all marks. */
  readonly #pushedDexes = new Set<string>();
  #pushedMs = NEVER_MS;
  #forgottenMs = NEVER_MS;

  /** Notes that pushed marks may have changed without a message. */
  forgetPushed(nowMs: number): void {
    this.#forgottenMs = nowMs;
    this.#pushedDexes.clear();
  }

  /**
   * Notes that marks of these dexes were pushed: all marks of the dex if `isWhole`. Other frames
   * keep a dex current if all its marks were received since the last gap of the connection.
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

  /** When marks were last pushed, if the connection keeps the dex current. */
  pushedMs(dex: string): number {
    return this.#pushedDexes.has(dex) ? this.#pushedMs : NEVER_MS;
  }

  /** When all marks of the dex were last received; undefined if never. */
  dexMs(dex: string): number | undefined {
    return this.#dexMs.get(dex);
  }

  /** When the mark of a coin of the dex was last received; undefined if never. */
  coinMs(dex: string, coin: string): number | undefined {
    const [whole, own] = [this.#dexMs.get(dex), this.#coinMs.get(coin)];
    if (whole === undefined || own === undefined) return whole ?? own;
    return Math.max(whole, own);
  }
}
