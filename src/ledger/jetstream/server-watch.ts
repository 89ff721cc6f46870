/**
 * Leaves a server that makes no progress. One that is cut off from its peers still answers the pings of
 * its clients, but acknowledges nothing and gets no blocks. The stream's state gives it away: only the
 * stream's leader tells it, and it says when the leader last heard of the other servers. A leader
 * without a majority of them leads nothing, although it takes seconds to notice.
 */

import { setTimeout as sleep } from 'node:timers/promises';
import type { StreamInfo } from '@nats-io/jetstream';

const LOOK_MS = 1_000;
const ANSWER_MS = 1_500;
/** One missing answer may be this process's own fault: it was busy. */
const FAILURES_MAX = 2;
/** A server is given this long before it is left: its peers may just be electing a leader. */
const STAY_MS = 3_000;
/** Servers of a stream hear of each other every second. */
const PEER_SILENCE_MS_MAX = 3_500;

export interface WatchedServer {
  /** Asks for the state of the ledger's stream. */
  readInfo(): Promise<StreamInfo>;
  /** True for an error that is a sound server's answer: that there is no such stream, for one. */
  isAnswer(error: unknown): boolean;
  /** Goes to another server. */
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
    this.#lookLater(LOOK_MS);
  }

  connected(): void {
    this.#isConnected = true;
    this.#failures = 0;
    this.#sinceMs = performance.now();
  }

  disconnected(): void {
    this.#isConnected = false;
  }

  #lookLater(delayMs: number): void {
    this.#timer = setTimeout(() => void this.#look(), delayMs);
    this.#timer.unref();
  }

  async #look(): Promise<void> {
    const sinceMs = this.#sinceMs;
    const isSound = await this.#isSound();
    if (this.#timer === undefined) return;
    if (isSound || sinceMs !== this.#sinceMs) this.#failures = 0;
    else if (this.#isConnected) this.#failures++;
    const stayedMs = performance.now() - this.#sinceMs;
    if (this.#failures >= FAILURES_MAX && stayedMs >= STAY_MS) {
      this.#failures = 0;
      this.#server.leave();
    }
    this.#lookLater(isSound ? LOOK_MS : LOOK_MS / 4);
  }

  async #isSound(): Promise<boolean> {
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

/** Whether the stream's leader is in touch with so many servers that it can store anything. */
function hasMajority({ cluster }: StreamInfo): boolean {
  const peers = cluster?.replicas ?? [];
  if (peers.length === 0) return true;
  if (!cluster?.leader) return false;
  const heard = peers.filter(({ active }) => active / 1e6 < PEER_SILENCE_MS_MAX);
  return (heard.length + 1) * 2 > peers.length + 1;
}
