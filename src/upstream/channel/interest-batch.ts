/**
 * Collects the items that clients ask for, and sends them to the follower once a second. No answer
 * waits for this.
 */

import type { FollowedItem, Interest } from './follower-client.ts';

const FLUSH_MS = 1_000;
/**
 * The maximum number of entries per flush, one for each pair of a key and an item. Further entries
 * are dropped: clients ask for their items again soon.
 */
const ITEMS_MAX = 20_000;

/** Returns a text that identifies the item: equal items have equal texts. */
export function itemKey(item: FollowedItem): string {
  return item.kind === 'account' ? `${item.user} ${item.dex}` : item.user;
}

export class InterestBatch {
  readonly #counts = new Map<string, Interest & { count: number }>();
  readonly #timer: NodeJS.Timeout;
  readonly #send: (interests: readonly Interest[]) => void;

  constructor(send: (interests: readonly Interest[]) => void) {
    this.#send = send;
    this.#timer = setInterval(() => this.flush(), FLUSH_MS);
    this.#timer.unref();
  }

  add(item: FollowedItem, keyId: string): void {
    const key = `${keyId} ${itemKey(item)}`;
    const counted = this.#counts.get(key);
    if (counted !== undefined) counted.count++;
    else if (this.#counts.size < ITEMS_MAX) this.#counts.set(key, { item, count: 1, keyId });
  }

  flush(): void {
    if (this.#counts.size === 0) return;
    const interests = [...this.#counts.values()];
    this.#counts.clear();
    this.#send(interests);
  }

  close(): void {
    clearInterval(this.#timer);
  }
}
