/**
 * Finds the subscriptions that make the upstream close the connection without giving a reason. The
 * subscriptions that were sent shortly before the closing are tried again in groups. A group that
 * makes the upstream close the connection is split into two halves.
 */

/**
 * If a connection is closed within this time after a subscription was sent, the subscription may be
 * the cause.
 */
const CLOSING_MS = 1_000;
/**
 * If this number of connections is closed before a group was sent, no subscription is the cause,
 * and the search ends.
 */
const UNPROVOKED_MAX = 3;

/** A subscription that was sent on a connection. */
export interface SentKey {
  readonly key: string;
  readonly sentMs: number;
  /** True if the upstream has not confirmed the subscription. */
  readonly isPending: boolean;
}

export class FaultySubscriptionSearch {
  /** The groups that must still be tried, one after the other. */
  #groups: (readonly string[])[] = [];
  /** The group that is tried on this connection; undefined between two groups. */
  #trial: readonly string[] | undefined;
  /** The subscriptions that the upstream accepts, as far as this search knows. */
  readonly #cleared = new Set<string>();
  #openedMs = 0;
  #unprovoked = 0;

  get isActive(): boolean {
    return this.#trial !== undefined || this.#groups.length > 0;
  }

  /**
   * Returns true if the subscription may be sent. During a search, only the subscriptions of the
   * tried group and accepted subscriptions may be sent, so that no other subscription can close the
   * connection.
   */
  isAllowed(key: string): boolean {
    return !this.isActive || this.#cleared.has(key) || this.#trial?.includes(key) === true;
  }

  /** Starts to try these subscriptions. One of them has closed a connection before. */
  start(keys: readonly string[], sent: Iterable<string>): void {
    if (!this.isActive) for (const key of sent) this.#cleared.add(key);
    for (const key of keys) this.#cleared.delete(key);
    this.#groups.push(keys);
  }

  noteOpened(nowMs: number): void {
    this.#openedMs = nowMs;
  }

  /**
   * Continues with the next group if the current group is done. Returns the subscriptions that were
   * tried and that the upstream accepts.
   */
  advance(
    nowMs: number,
    sentMsOf: (key: string) => number | undefined,
    isWanted: (key: string) => boolean,
  ): readonly string[] {
    if (!this.isActive) return [];
    this.#trial = this.#trial?.filter(isWanted);
    const isOver = (key: string) => nowMs - (sentMsOf(key) ?? nowMs) >= CLOSING_MS;
    const taken = this.#trial?.every(isOver) ? this.#trial : [];
    for (const key of taken) this.#cleared.add(key);
    if (taken.length > 0) this.#unprovoked = 0;
    if (this.#trial?.every(isOver)) this.#trial = undefined;
    const isCalm = nowMs - this.#openedMs >= CLOSING_MS;
    if (this.#trial === undefined && isCalm) this.#trial = this.#takeGroup(isWanted);
    if (!this.isActive) this.#end();
    return taken;
  }

  #takeGroup(isWanted: (key: string) => boolean): readonly string[] | undefined {
    while (this.#groups.length > 0) {
      const group = this.#groups.shift()?.filter(isWanted) ?? [];
      if (group.length > 0) return group;
    }
    return undefined;
  }

  /**
   * Returns the time in milliseconds until `advance` must be called again; returns undefined if no
   * search is active.
   */
  waitMs(nowMs: number): number | undefined {
    if (!this.isActive) return undefined;
    return this.#trial === undefined ? this.#openedMs + CLOSING_MS - nowMs : CLOSING_MS;
  }

  /** Notes that the connection was lost for a reason that has nothing to do with subscriptions. */
  noteLost(): void {
    if (this.#trial !== undefined) this.#groups.unshift(this.#trial);
    this.#trial = undefined;
  }

  /**
   * Notes that the upstream has closed the connection. Returns the subscriptions to leave out: the
   * single subscription that was found, or a whole group if the group must not be split; none while
   * the search goes on. Returns undefined if no sent subscription was the cause.
   */
  noteClosed(
    sent: readonly SentKey[],
    nowMs: number,
    mayHalve: boolean,
  ): readonly string[] | undefined {
    const suspects = this.isActive ? this.#findTried(sent) : findSuspects(sent, nowMs);
    if (suspects.length === 0) {
      if (this.isActive) this.#noteUnprovoked();
      return undefined;
    }
    const isFound = suspects.length === 1 || !mayHalve;
    if (!isFound) this.#halve(suspects, sent);
    else if (!this.isActive) this.#end();
    return isFound ? suspects : [];
  }

  /**
   * Returns the subscriptions of the group that may have closed the connection. The subscriptions
   * of the group that were not sent yet are tried again.
   */
  #findTried(sent: readonly SentKey[]): readonly string[] {
    const trial = new Set(this.#trial);
    this.#trial = undefined;
    const tried = sent.filter(({ key }) => trial.has(key));
    const suspects = withoutConfirmed(tried);
    for (const { key } of tried) trial.delete(key);
    if (trial.size > 0) this.#groups.unshift([...trial]);
    if (suspects.length > 0) {
      const isSuspect = new Set(suspects);
      for (const { key } of tried) if (!isSuspect.has(key)) this.#cleared.add(key);
    }
    return suspects;
  }

  #halve(suspects: readonly string[], sent: readonly SentKey[]): void {
    const middle = Math.ceil(suspects.length / 2);
    this.#groups.unshift(suspects.slice(0, middle), suspects.slice(middle));
    const isSuspect = new Set(suspects);
    for (const { key } of sent) if (!isSuspect.has(key)) this.#cleared.add(key);
  }

  #noteUnprovoked(): void {
    this.#unprovoked++;
    if (this.#unprovoked === UNPROVOKED_MAX) this.#end();
  }

  #end(): void {
    this.#groups = [];
    this.#trial = undefined;
    this.#cleared.clear();
    this.#unprovoked = 0;
  }
}

function findSuspects(sent: readonly SentKey[], nowMs: number): readonly string[] {
  return withoutConfirmed(sent.filter(({ sentMs }) => nowMs - sentMs <= CLOSING_MS));
}

/**
 * Returns the subscriptions that are not confirmed. If all are confirmed, returns all: an upstream
 * may confirm a subscription before it closes the connection.
 */
function withoutConfirmed(sent: readonly SentKey[]): readonly string[] {
  const pending = sent.filter(({ isPending }) => isPending);
  return (pending.length > 0 ? pending : sent).map(({ key }) => key);
}
