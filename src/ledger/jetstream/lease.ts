/**
 * A lease in a key-value bucket. One process has the lease and renews it; a lease that is not
 * renewed expires. No clocks are compared: a process that wants the lease watches whether the entry
 * still changes. The lease is advisory: the expected sequence of each publish ensures that two
 * writers never mix their blocks.
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
} from '../ownership/process-identity.ts';
import type { NatsLink } from './nats.ts';

const RENEW_MS = 1_000;
/** The time after which a lease expires if it is not renewed. */
const TTL_MS = 8_000;
const POLL_MS = 250;

export interface LeaseHolder extends ProcessIdentity {
  readonly host: string;
  readonly token: string;
}

export function describeHolder(holder: LeaseHolder): string {
  const { pid, host } = holder;
  return statusOf(holder) === 'unknown' ? `process ${pid} on ${host}` : `process ${pid}`;
}

/** The tokens of the leases that this process has. */
const heldTokens = new Set<string>();

/**
 * Returns whether the holder is running. The hosts are compared too, because not every system has
 * ids of boots and namespaces.
 */
function statusOf(holder: LeaseHolder): ProcessStatus {
  if (holder.host !== hostname()) return 'unknown';
  const status = processStatus(holder);
  if (status !== 'running' || holder.pid !== process.pid) return status;
  // Any other token is left over from a lease that was taken or released during an outage.
  return heldTokens.has(holder.token) ? 'running' : 'ended';
}

export class Lease {
  readonly #link: NatsLink;
  readonly #bucket: KV;
  readonly #key: string;
  readonly #holder: LeaseHolder;
  readonly #timer: NodeJS.Timeout;
  #revision: number;
  #isLost = false;
  #renewal: Promise<void> | undefined;

  constructor(place: LeasePlace, holder: LeaseHolder, revision: number) {
    this.#link = place.link;
    this.#bucket = place.bucket;
    this.#key = place.key;
    this.#holder = holder;
    this.#revision = revision;
    heldTokens.add(holder.token);
    this.#timer = setInterval(() => this.#startRenewal(), RENEW_MS);
    this.#timer.unref();
  }

  /** True if another process has taken the lease. */
  get isLost(): boolean {
    return this.#isLost;
  }

  #startRenewal(): void {
    if (this.#renewal !== undefined || this.#isLost) return;
    this.#renewal = this.#renew().finally(() => {
      this.#renewal = undefined;
    });
  }

  async #renew(): Promise<void> {
    try {
      const text = JSON.stringify(this.#holder);
      this.#revision = await this.#bucket.update(this.#key, text, this.#revision);
    } catch (error) {
      if (this.#link.isWrongSequence(error)) await this.#checkHolder();
      // For any other error NATS is unavailable: the next renewal is the retry.
    }
  }

  /**
   * Finds out why the entry has changed: an unacknowledged renewal of this process arrived, or
   * another process took the lease.
   */
  async #checkHolder(): Promise<void> {
    const entry = await this.#bucket.get(this.#key).catch(() => undefined);
    if (entry === undefined) return;
    if (entry !== null && readHolder(entry)?.token === this.#holder.token) {
      this.#revision = entry.revision;
    } else {
      this.#isLost = true;
      this.#endRenewals();
    }
  }

  #endRenewals(): void {
    clearInterval(this.#timer);
    heldTokens.delete(this.#holder.token);
  }

  async release(): Promise<void> {
    this.#endRenewals();
    // A renewal in flight changes the revision that the delete expects.
    await this.#renewal;
    if (this.#isLost || !this.#link.isConnected) return;
    // If the deletion fails, the next process waits until the lease expires.
    await this.#bucket.delete(this.#key, { previousSeq: this.#revision }).catch(() => undefined);
  }
}

/** The place in which a lease is stored. */
interface LeasePlace {
  readonly link: NatsLink;
  readonly bucket: KV;
  readonly key: string;
}

/** Returns the holder of the lease; returns undefined if the lease is free. */
function readHolder(entry: KvEntry | null): LeaseHolder | undefined {
  return entry === null || entry.operation !== 'PUT' ? undefined : entry.json<LeaseHolder>();
}

/**
 * Takes the lease and returns it; returns the holder if another process has the lease. A holder
 * that is on another machine or in another process namespace cannot be checked. Its lease is
 * watched until it is renewed or expires.
 */
export async function takeLease(place: LeasePlace): Promise<Lease | LeaseHolder> {
  const holder = { ...describeProcess(), host: hostname(), token: randomUUID() };
  const deadlineMs = performance.now() + TTL_MS;
  for (let seen: number | undefined; ; await sleep(POLL_MS)) {
    const entry = await place.link.ask('reading the lease', () => place.bucket.get(place.key));
    const current = readHolder(entry);
    const wasRenewed = seen !== undefined && entry?.revision !== seen;
    const status = current === undefined ? 'ended' : statusOf(current);
    if (current !== undefined && (status === 'running' || wasRenewed)) return current;
    const isExpired = performance.now() > deadlineMs;
    if (status === 'ended' || isExpired) {
      const revision = await tryTake(place, holder, entry);
      if (revision !== undefined) return new Lease(place, holder, revision);
    }
    seen = entry?.revision;
  }
}

/** Returns the new revision; returns undefined if another process was faster. */
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
    throw link.toLedgerError('taking the lease', error);
  }
}
