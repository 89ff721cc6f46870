/**
 * The keys that wait for a read from the upstream. A read may need several questions to the
 * upstream.
 */
export class WaitingKeys {
  readonly #keyIds: Set<string>;
  #joined: () => void = () => undefined;
  /** True if one of the questions was sent: then the upstream has probably charged for it. */
  isSent = false;

  constructor(keyId: string) {
    this.#keyIds = new Set([keyId]);
  }

  /** The ids of the keys that wait for the read. */
  get keyIds(): ReadonlySet<string> {
    return this.#keyIds;
  }

  /**
   * Notes that another key waits for the read, so that the questions of the read may be sent
   * earlier.
   */
  join(keyId: string): void {
    if (this.#keyIds.has(keyId)) return;
    this.#keyIds.add(keyId);
    this.#joined();
  }

  /**
   * Sets the function that is called when a key joins. This function replaces the function that was
   * set before.
   */
  whenJoined(joined: () => void): void {
    this.#joined = joined;
  }
}
