/**
 * Leaves a server that makes no progress. A server that is isolated from its peers still answers
 * pings, but acknowledges nothing and receives no blocks. The stream's info reveals the isolation:
 * only the stream's leader sends the info, with the time since the leader last heard from each
 * peer. A leader without a majority cannot commit anything, and takes seconds to notice that.
 */

import { setTimeout as sleep } from 'node:timers/promises';
import type { StreamInfo } from '@nats-io/jetstream';

const CHECK_MS = 1_000;
const ANSWER_MS = 1_500;
/** A single missed answer may mean that this process was busy. */
const FAILURES_MAX = 2;
/** The minimum time on a server: its peers may be electing a leader. */
const STAY_MS = 3_000;
/**
 * The longest silence of a healthy peer: the servers of a stream exchange heartbeats every second.
 */
const PEER_SILENCE_MS_MAX = 3_500;

export interface WatchedServer {
  /** Reads the state of the ledger's stream. */
  readInfo(): Promise<StreamInfo>;
  /**
   * True if a healthy server may send the error, for example about a stream that does not exist.
   */
  isAnswer(error: unknown): boolean;
  /** Reconnects to another server. */
  leave(): void;
}

export class ServerWatch {
  readonly #server: WatchedServer;
  #failures = 0;
  #sinceMs = performance.now();
  #timer: NodeJS.Timeout | undefined;
  #isConnected = true;

  constructor(server: WatchedServer) {
    this.#server = server;
    this.#scheduleCheck(CHECK_MS);
  }

  connected(): void {
    this.#isConnected = true;
    this.#failures = 0;
    this.#sinceMs = performance.now();
  }

  disconnected(): void {
    this.#isConnected = false;
  }

  #scheduleCheck(delayMs: number): void {
    this.#timer = setTimeout(() => void this.#check(), delayMs);
    this.#timer.unref();
  }

  async #check(): Promise<void> {
    const sinceMs = this.#sinceMs;
    const isHealthy = await this.#isHealthy();
    if (this.#timer === undefined) return;
    if (isHealthy || sinceMs !== this.#sinceMs) this.#failures = 0;
    else if (this.#isConnected) this.#failures++;
    const stayedMs = performance.now() - this.#sinceMs;
    if (this.#failures >= FAILURES_MAX && stayedMs >= STAY_MS) {
      this.#failures = 0;
      this.#server.leave();
    }
    this.#scheduleCheck(isHealthy ? CHECK_MS : CHECK_MS / 4);
  }

  async #isHealthy(): Promise<boolean> {
    try {
      const late = sleep(ANSWER_MS, undefined, { ref: false });
      const info = await Promise.race([this.#server.readInfo(), late]);
      return info !== undefined && hasMajority(info);
    } catch (error) {
      return this.#server.isAnswer(error);
    }
  }

  close(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }
}

/** True if the stream's leader hears from a majority, which it needs for storing anything. */
function hasMajority({ cluster }: StreamInfo): boolean {
  const peers = cluster?.replicas ?? [];
  if (peers.length === 0) return true;
  if (!cluster?.leader) return false;
  const heard = peers.filter(({ active }) => active / 1e6 < PEER_SILENCE_MS_MAX);
  return (heard.length + 1) * 2 > peers.length + 1;
}
