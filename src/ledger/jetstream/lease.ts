/**
 * A place that one process at a time holds, kept in a key-value bucket. Its holder renews it; one that
 * is not renewed for a while is free. No clocks are compared: whoever wants it watches whether it
 * still changes. It keeps two from doing the same work; that nothing goes wrong when two do
 * all the same is seen to elsewhere.
 */

import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import type { KV, KvEntry } from '@nats-io/kv';
import {
  describeProcess,
  type ProcessIdentity,
  type ProcessStatus,
  processStatus,
} from '../process-identity.ts';
import type { NatsLink } from './nats.ts';

const RENEW_MS = 1_000;
/** A holder that was not heard of for so long is taken for gone. */
const SILENCE_MS_MAX = 8_000;
const LOOK_MS = 250;

export interface LeaseHolder extends ProcessIdentity {
  readonly host: string;
  readonly token: string;
}

export function describeHolder(holder: LeaseHolder): string {
  const { pid, host } = holder;
  return statusOf(holder) === 'unknown' ? `process ${pid} on ${host}` : `process ${pid}`;
}

/** On systems that tell neither boot nor namespace, the host's name says whose number it is. */
function statusOf(holder: LeaseHolder): ProcessStatus {
  return holder.host === hostname() ? processStatus(holder) : 'unknown';
}

export class Lease {
  readonly #link: NatsLink;
  readonly #bucket: KV;
  readonly #key: string;
  readonly #holder: LeaseHolder;
  readonly #timer: NodeJS.Timeout;
  #revision: number;
  #isLost = false;
  #isRenewing = false;

  constructor(place: LeasePlace, holder: LeaseHolder, revision: number) {
    this.#link = place.link;
    this.#bucket = place.bucket;
    this.#key = place.key;
    this.#holder = holder;
    this.#revision = revision;
    this.#timer = setInterval(() => void this.#renew(), RENEW_MS);
    this.#timer.unref();
  }

  /** True once somebody else has taken the place. */
  get isLost(): boolean {
    return this.#isLost;
  }

  async #renew(): Promise<void> {
    if (this.#isRenewing || this.#isLost) return;
    this.#isRenewing = true;
    try {
      const text = JSON.stringify(this.#holder);
      this.#revision = await this.#bucket.update(this.#key, text, this.#revision);
    } catch (error) {
      if (this.#link.isWrongSequence(error)) await this.#lookWhoHasIt();
      // Otherwise nobody could be asked: the next turn tries again.
    } finally {
      this.#isRenewing = false;
    }
  }

  /** It has changed: by ourselves, where an answer was lost, or by somebody else. */
  async #lookWhoHasIt(): Promise<void> {
    const entry = await this.#bucket.get(this.#key).catch(() => undefined);
    if (entry === undefined) return;
    if (entry !== null && readHolder(entry)?.token === this.#holder.token) {
      this.#revision = entry.revision;
    } else {
      this.#isLost = true;
    }
  }

  async release(): Promise<void> {
    clearInterval(this.#timer);
    if (this.#isLost || !this.#link.isConnected) return;
    // A failure costs the next one some waiting, nothing else.
    await this.#bucket.delete(this.#key, { previousSeq: this.#revision }).catch(() => undefined);
  }
}

interface LeasePlace {
  readonly link: NatsLink;
  readonly bucket: KV;
  readonly key: string;
}

/** Undefined where nobody holds it. */
function readHolder(entry: KvEntry | null): LeaseHolder | undefined {
  return entry === null || entry.operation !== 'PUT' ? undefined : entry.json<LeaseHolder>();
}

/**
 * Takes the place, or returns who has it. A holder whose process cannot be looked up, because it is
 * on another machine or in another process namespace, is watched until it is heard of again, or taken
 * for gone.
 */
export async function takeLease(place: LeasePlace): Promise<Lease | LeaseHolder> {
  const holder = { ...describeProcess(), host: hostname(), token: randomUUID() };
  const deadlineMs = performance.now() + SILENCE_MS_MAX;
  for (let seen: number | undefined; ; await sleep(LOOK_MS)) {
    const entry = await place.link.ask('looking who writes', () => place.bucket.get(place.key));
    const current = readHolder(entry);
    const hasMoved = seen !== undefined && entry?.revision !== seen;
    const status = current === undefined ? 'ended' : statusOf(current);
    if (current !== undefined && (status === 'running' || hasMoved)) return current;
    const isSilent = performance.now() > deadlineMs;
    if (status === 'ended' || isSilent) {
      const revision = await tryTake(place, holder, entry);
      if (revision !== undefined) return new Lease(place, holder, revision);
    }
    seen = entry?.revision;
  }
}

/** Undefined where somebody else was faster. */
async function tryTake(
  { link, bucket, key }: LeasePlace,
  holder: LeaseHolder,
  entry: KvEntry | null,
): Promise<number | undefined> {
  const text = JSON.stringify(holder);
  try {
    return entry === null
      ? await bucket.create(key, text)
      : await bucket.update(key, text, entry.revision);
  } catch (error) {
    if (link.isWrongSequence(error)) return undefined;
    throw link.describe('taking the place', error);
  }
}
