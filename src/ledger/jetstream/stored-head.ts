/**
 * The newest point that is known to be stored, as noted in the ledger's bucket. A stream whose
 * max_age has dropped all blocks no longer has the hash of the last block, which the next block
 * needs. A stream that ends before the noted height has lost blocks.
 */

import type { KV, KvEntry } from '@nats-io/kv';
import type { ChainPoint } from '../ledger.ts';
import type { NatsLink } from './nats.ts';

const KEY = 'written';
/** Maximum attempts at raising the note while other processes raise it too. */
const TRIES_MAX = 5;

/** A point as the bucket stores it. */
interface StoredPoint {
  readonly height: number;
  readonly hash: string;
}

export function formatPoint({ height, hash }: ChainPoint): string {
  const stored: StoredPoint = { height, hash: hash.toString('hex') };
  return JSON.stringify(stored);
}

/** Returns the stored point; returns undefined if the entry does not exist or was deleted. */
export function readPoint(entry: KvEntry | null): ChainPoint | undefined {
  if (entry?.operation !== 'PUT') return undefined;
  const { height, hash } = entry.json<StoredPoint>();
  return { height, hash: Buffer.from(hash, 'hex') };
}

export class StoredHead {
  readonly #link: NatsLink;
  readonly #bucket: KV;

  constructor(link: NatsLink, bucket: KV) {
    this.#link = link;
    this.#bucket = bucket;
  }

  async read(): Promise<ChainPoint | undefined> {
    return readPoint(await this.#readEntry());
  }

  #readEntry(): Promise<KvEntry | null> {
    return this.#link.ask('reading the noted head', () => this.#bucket.get(KEY));
  }

  /** Sets the note, even to an earlier point, for a writer that has just opened the ledger. */
  async set(point: ChainPoint): Promise<void> {
    const text = formatPoint(point);
    await this.#link.ask('noting the head', () => this.#bucket.put(KEY, text));
  }

  /**
   * Raises the note, and never lowers it, because writers and replicas note points in any order.
   */
  async raise(point: ChainPoint): Promise<void> {
    for (let tries = 1; ; tries++) {
      const entry = await this.#readEntry();
      const noted = readPoint(entry);
      if (noted !== undefined && noted.height >= point.height) return;
      try {
        await this.#bucket.update(KEY, formatPoint(point), entry?.revision ?? 0);
        return;
      } catch (error) {
        const isRaced = this.#link.isWrongSequence(error) && tries < TRIES_MAX;
        if (!isRaced) throw this.#link.toLedgerError('noting the head', error);
      }
    }
  }
}
