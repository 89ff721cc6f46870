/**
 * Access keys in a JetStream key-value bucket, for replicas on several machines.
 *
 *   bucket NAME-keys   ID       -> JSON of the key
 *   bucket NAME        used.ID  -> when it was last used, in milliseconds
 *
 * Every change raises the sequence of the stream of the bucket NAME-keys. Each serving process
 * polls this sequence and the stream's creation time several times a second: unlike a watch, a poll
 * has no state to restore after an outage. While NATS is unavailable, the cached keys stay in use.
 */

import type { KV, KvEntry } from '@nats-io/kv';
import { connectNats, type NatsLink } from '../../ledger/jetstream/nats.ts';
import type { NatsOptions } from '../../ledger/jetstream/nats-client.ts';
import {
  addSecretTo,
  findRemovableKeys,
  makeKey,
  type NewSecret,
  removeSecretFrom,
} from '../key-changes.ts';
import { type KeyStore, type ListedKey, listKeys } from '../key-store.ts';
import { isRevoked, type Key, KeyError, type KeyTerms, missingKey, parseName } from '../keys.ts';

/**
 * Each process polls for changes at this interval, because a revoked key must stop working within a
 * second.
 */
const POLL_MS = 200;
/**
 * If a list is silent for this long, it is read again. The client itself would wait for half a
 * minute.
 */
const IDLE_MS = 1_000;
/**
 * If servers do not find a change for this long, an operator has purged it. Until then, a lagging
 * server may be the reason.
 */
const PURGED_MS = 15_000;
/** The maximum number of attempts to change a key while others change the same key. */
const ATTEMPTS_MAX = 10;
/** A revocation removes at most this many keys that were revoked long ago. */
const FORGOTTEN_MAX = 2;

class JetStreamKeyStore implements KeyStore {
  readonly #link: NatsLink;
  readonly #keys: KV;
  readonly #used: KV;
  readonly #timer: NodeJS.Timeout;
  /** Always empty, because NATS checks the data that it stores. */
  readonly faults: readonly string[] = [];
  #known: Key[] = [];
  /**
   * The creation time and the sequence of the bucket from which `#known` was read. A new bucket
   * counts from 1 again.
   */
  #seen = { created: '', sequence: -1 };
  /** The newest change that servers do not find, and the time since which they do not find it. */
  #unfound = { sequence: -1, sinceMs: 0 };
  #version = 0;
  #isPolling = false;
  /** The number of reads of the list that have started. */
  #reads = 0;

  constructor(link: NatsLink, keys: KV, used: KV) {
    this.#link = link;
    this.#keys = keys;
    this.#used = used;
    this.#timer = setInterval(() => void this.#poll(), POLL_MS);
    this.#timer.unref();
  }

  version(): number {
    return this.#version;
  }

  all(): Key[] {
    return this.#known.filter((key) => !isRevoked(key));
  }

  async #poll(): Promise<void> {
    if (this.#isPolling || !this.#link.isConnected) return;
    this.#isPolling = true;
    try {
      await this.refresh();
    } catch {
      // NATS is unavailable. The next poll is the retry.
    } finally {
      this.#isPolling = false;
    }
  }

  async refresh(): Promise<void> {
    const { state, created } = await this.#link.manager.streams.info(this.#stream);
    if (state.last_seq === this.#seen.sequence && created === this.#seen.created) return;
    const turn = ++this.#reads;
    const { entries, count, last } = await this.#readEntries(this.#keys);
    // An interrupted list ends as if it were complete, so the entries are counted.
    if (count < state.messages) throw new Error(`${count} of ${state.messages} keys were read`);
    // A lagging server may have the same number of keys, but may lack the newest change.
    if (last < state.last_seq && (await this.#holds(state.last_seq))) {
      throw new Error(`the keys were read up to change ${last}, not ${state.last_seq}`);
    }
    // Another read started later, so its result is newer.
    if (turn !== this.#reads) return;
    this.#known = entries.map((entry) => entry.json<Key>());
    // The sequence was read before the keys: the next poll reads a change that was made in between.
    const isWhole = last >= state.last_seq || this.#isPurged(state.last_seq);
    this.#seen = { created, sequence: isWhole ? state.last_seq : last };
    this.#version++;
  }

  /**
   * True if the change was purged. The answer of one server is not enough: until the change has
   * been missing for some time, each poll reads the keys again.
   */
  #isPurged(sequence: number): boolean {
    const nowMs = performance.now();
    if (this.#unfound.sequence !== sequence) this.#unfound = { sequence, sinceMs: nowMs };
    return nowMs - this.#unfound.sinceMs > PURGED_MS;
  }

  /** Returns false if an operator has purged the change, or if the server that answers lags. */
  async #holds(seq: number): Promise<boolean> {
    const change = await this.#link.manager.streams.getMessage(this.#stream, { seq });
    return change !== null;
  }

  get #stream(): string {
    return `KV_${this.#link.name}-keys`;
  }

  /**
   * Returns the newest entry of each existing key. The count and the last sequence also include the
   * entries of deleted keys.
   */
  async #readEntries(bucket: KV, key = '>') {
    const entries: KvEntry[] = [];
    let count = 0;
    let last = 0;
    const list = await bucket.history({ key });
    const idleTimer = this.#link.startIdleTimer(IDLE_MS, (reason) => list.stop(reason));
    try {
      for await (const entry of list) {
        idleTimer.reset();
        count++;
        last = Math.max(last, entry.revision);
        if (entry.operation === 'PUT') entries.push(entry);
      }
    } finally {
      idleTimer.cancel();
    }
    return { entries, count, last };
  }

  async list(): Promise<ListedKey[]> {
    await this.#link.ask('reading the keys', () => this.refresh());
    const { entries } = await this.#link.ask('reading when keys were used', () =>
      this.#readEntries(this.#used, 'used.*'),
    );
    const usedMsById = new Map(
      entries.map((entry) => [entry.key.slice('used.'.length), Number(entry.string())]),
    );
    return listKeys(this.#known, usedMsById);
  }

  async create(terms: KeyTerms): Promise<NewSecret> {
    const { key, newSecret } = makeKey(terms);
    await this.#link.ask('creating a key', () => this.#keys.create(key.id, JSON.stringify(key)));
    return newSecret;
  }

  async addSecret(keyName: string): Promise<NewSecret> {
    const { id } = parseName(keyName);
    return this.#change(id, async ({ revision }, current) => {
      const { key, newSecret } = addSecretTo(current);
      await this.#keys.update(id, JSON.stringify(key), revision);
      return newSecret;
    });
  }

  async revoke(name: string): Promise<void> {
    const { id, number } = parseName(name);
    await this.#change(id, async ({ revision }, current) => {
      await this.#keys.update(id, JSON.stringify(removeSecretFrom(current, number)), revision);
    });
    await this.#removeForgotten().catch(() => undefined); // The next revocation is the retry.
  }

  /**
   * Removes keys that were revoked long ago. A revoked key never changes again, so the sequence
   * need not be compared.
   */
  async #removeForgotten(): Promise<void> {
    for (const { id } of findRemovableKeys(this.#known, Date.now()).slice(-FORGOTTEN_MAX)) {
      await this.#link.ask('removing a revoked key', () => this.#keys.delete(id));
    }
  }

  /** Reads a key and changes it; retries if the key was changed in between (compare and set). */
  async #change<T>(id: string, change: (entry: KvEntry, key: Key) => Promise<T>): Promise<T> {
    for (let attempt = 1; ; attempt++) {
      const entry = await this.#link.ask('reading a key', () => this.#keys.get(id));
      if (entry === null || entry.operation !== 'PUT') throw missingKey(id);
      try {
        return await change(entry, entry.json<Key>());
      } catch (error) {
        if (!this.#link.isWrongSequence(error) || attempt === ATTEMPTS_MAX) {
          throw error instanceof KeyError
            ? error
            : this.#link.toLedgerError('changing a key', error);
        }
      }
    }
  }

  async saveUse(usedMsById: ReadonlyMap<string, number>): Promise<void> {
    if (!this.#link.isConnected) throw new Error('NATS cannot be reached');
    const saved = Array.from(usedMsById, ([id, usedMs]) =>
      this.#used.put(`used.${id}`, String(usedMs)),
    );
    await Promise.all(saved);
  }

  async close(): Promise<void> {
    clearInterval(this.#timer);
    await this.#link.close();
  }
}

export async function openJetStreamKeys(options: NatsOptions): Promise<KeyStore> {
  const link = await connectNats(options);
  try {
    const keys = await link.openBucket(`${link.name}-keys`);
    const store = new JetStreamKeyStore(link, keys, await link.openBucket(link.name));
    await link.retryWhileUnavailable(() => link.ask('reading the keys', () => store.refresh()));
    return store;
  } catch (error) {
    await link.close();
    throw error;
  }
}
