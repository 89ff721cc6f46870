/** For whom something is asked of the upstream, which may take several questions. */
export class Asking {
  readonly #keyIds: Set<string>;
  #joined: () => void = () => undefined;
  /** Whether one of the questions was sent: the upstream has probably counted it. */
  isSent = false;

  constructor(keyId: string) {
    this.#keyIds = new Set([keyId]);
  }

  /** The ids of the keys that wait for it. */
  get keyIds(): ReadonlySet<string> {
    return this.#keyIds;
  }

  /** Another key waits for it as well: its turn may come earlier. */
  join(keyId: string): void {
    if (this.#keyIds.has(keyId)) return;
    this.#keyIds.add(keyId);
    this.#joined();
  }

  /** Called back from then on when a key has joined; the last one to say so is. */
  whenJoined(joined: () => void): void {
    this.#joined = joined;
  }
}
