/**
 * Finds the subscriptions that make the upstream close the connection without giving a reason.
 * Subscriptions that were sent shortly before are tried again in groups. A group that closes the
 * connection is halved.
 */

/**
 * If a connection is closed within this time after a subscription was sent, the subscription is
 * suspected.
 */
const CLOSING_MS = 1_000;
/**
 * If so many connections are closed before a group was sent, no subscription is the cause, and the
 * search ends.
 */
const UNPROVOKED_MAX = 3;

/** A subscription that was sent on a connection. */
export interface SentKey {
  readonly key: string;
  readonly sentMs: number;
  /** True if the upstream has not confirmed it. */
  readonly isPending: boolean;
}

export class FaultySubscriptionSearch {
  /** Groups that are still to be tried, one after the other. */
  #groups: (readonly string[])[] = [];
  /** The group that is being tried on this connection. */
  #trial: readonly string[] | undefined;
  /** Subscriptions that the upstream accepts, as far as this search knows. */
  readonly #cleared = new Set<string>();
  #openedMs = 0;
  #unprovoked = 0;

  get isActive(): boolean {
    return this.#trial !== undefined || this.#groups.length > 0;
  }

  /**
   * During a search, only the tried group and accepted subscriptions are sent: no other
   * subscription may close the connection.
   */
  isAllowed(key: string): boolean {
    return !this.isActive || this.#cleared.has(key) || this.#trial?.includes(key) === true;
  }

  /** Starts to try these subscriptions, one of which has closed a connection before. */
  start(keys: readonly string[], sent: Iterable<string>): void {
    if (!this.isActive) for (const key of sent) this.#cleared.add(key);
    for (const key of keys) this.#cleared.delete(key);
    this.#groups.push(keys);
  }

  noteOpened(nowMs: number): void {
    this.#openedMs = nowMs;
  }

  /**
   * Continues with the next group if the current group is done; returns subscriptions that were
   * tried and accepted.
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

  /** In how many milliseconds to call `advance` again; undefined if no search is active. */
  waitMs(nowMs: number): number | undefined {
    if (!this.isActive) return undefined;
    return this.#trial === undefined ? this.#openedMs + CLOSING_MS - nowMs : CLOSING_MS;
  }

  /** The connection was lost for a reason that has nothing to do with subscriptions. */
  noteLost(): void {
    if (this.#trial !== undefined) this.#groups.unshift(this.#trial);
    this.#trial = undefined;
  }

  /**
   * The upstream has closed the connection. Returns the subscriptions to leave out: the one that
   * was found, or a whole group if the group must not be halved. Undefined if no sent subscription
   * was the cause.
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
   * The subscriptions of the group that may have closed the connection. The others are tried again.
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
 * Subscriptions that are not confirmed. If all are confirmed, all of them: some upstreams may
 * confirm before they close.
 */
function withoutConfirmed(sent: readonly SentKey[]): readonly string[] {
  const pending = sent.filter(({ isPending }) => isPending);
  return (pending.length > 0 ? pending : sent).map(({ key }) => key);
}
