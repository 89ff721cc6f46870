/** Runs the service that `weights.ts` measures in this process, with clients in other processes. */

import { setTimeout as sleep } from 'node:timers/promises';
import { Budgets } from '../../src/access/budgets.ts';
import { ArchiveLink } from '../../src/archive/reading/archive-link.ts';
import { openEmbeddedLedger } from '../../src/ledger/embedded/embedded-ledger.ts';
import { ChannelClient } from '../../src/upstream/channel/channel-client.ts';
import { SocketChannel } from '../../src/upstream/channel/socket/socket-channel.ts';
import { createInProcess, listenLocally, openGround } from '../../test/http/in-process.ts';
import { drawWishes } from '../../test/push/crowd.ts';
import { createKey } from '../../tools/harness/service.ts';
import { LongestSlice } from '../frame/longest-slice.ts';
import { PushLoad } from '../load/push-load.ts';
import { type GroupRun, RequestLoad } from '../load/request-load.ts';
import { startClients } from '../push/clients.ts';
import type { WeightsData } from './data.ts';
import type { PushCase } from './push-cases.ts';
import type { Case, Keys } from './questions.ts';
import { startStubFollower } from './stub-follower.ts';

/** A budget that no question of this benchmark can spend, and that clips no charge. */
const LARGE_BUDGET = { weight: 1e12, periodMs: 86_400_000 };
const SMALL_BUDGET = { weight: 2, periodMs: 86_400_000 };
const SPENT_KEYS = 64;
const CONNECTIONS = 8;
/**
 * If fewer questions were answered, they are measured again, for a longer time up to SECONDS_MAX.
 */
const ANSWERED_MIN = 20;
const SECONDS_MAX = 5;
const FOLLOWING_SECONDS = 5;
/**
 * The number of connections, and of subscriptions of each. Each subscription has an update with
 * every block.
 */
const SUBSCRIBERS = { connections: 100, each: 2 };

/** The durations of the parts of a measurement, in seconds. */
export interface Durations {
  readonly warmUp: number;
  readonly measured: number;
  readonly slices: number;
}

export interface Figures {
  readonly microseconds: number;
  readonly weight: number;
  readonly sliceMs: number;
  readonly run: Pick<GroupRun, 'answered' | 'bytes' | 'statuses'>;
}

interface Ports {
  readonly plain: number;
  readonly forwarding: number;
}

type AskFor = (seconds: number) => Promise<Figures['run']>;

export class WeightsService {
  readonly keys: Keys;
  readonly #ports: Ports;
  readonly #budgets: Budgets;
  readonly #durations: Durations;
  readonly #requests = new RequestLoad();
  readonly #frames = new PushLoad();
  readonly #slices = new LongestSlice();
  readonly #close: () => Promise<void>;
  /** The share of a core that the service uses to follow the ledger. */
  #followingCores = 0;

  constructor(
    keys: Keys,
    ports: Ports,
    budgets: Budgets,
    durations: Durations,
    close: () => Promise<void>,
  ) {
    this.keys = keys;
    this.#ports = ports;
    this.#budgets = budgets;
    this.#durations = durations;
    this.#close = close;
  }

  async stop(): Promise<void> {
    await Promise.all([this.#requests.stop(), this.#frames.stop()]);
    await this.#close();
  }

  /** Measures the cost of following the ledger: blocks are appended, and no client asks. */
  async measureFollowing(): Promise<void> {
    await sleep(FOLLOWING_SECONDS * 1000);
    const { microseconds } = await this.#time(async (seconds) => {
      await sleep(seconds * 1000);
      return { answered: 1, bytes: 0, statuses: {} };
    }, FOLLOWING_SECONDS);
    this.#followingCores = microseconds / (FOLLOWING_SECONDS * 1e6);
    console.log(`following the ledger, left out: ${this.#followingCores.toFixed(2)} cores`);
  }

  #portOf(isForwarded: boolean | undefined): number {
    return isForwarded ? this.#ports.forwarding : this.#ports.plain;
  }

  ask({ requests, connections = CONNECTIONS, isForwarded }: Case): Promise<Figures> {
    const port = this.#portOf(isForwarded);
    const groups = [{ name: '', requests, connections }];
    return this.#measure(async (seconds) => {
      const [run] = await this.#requests.run({ port, groups, seconds });
      return run;
    });
  }

  push({ steps, connections = CONNECTIONS, isForwarded }: PushCase): Promise<Figures> {
    const port = this.#portOf(isForwarded);
    const group = { name: '', secret: this.keys.key, steps, connections };
    return this.#measure(async (seconds) => {
      const [run] = await this.#frames.run({ port, groups: [group], seconds });
      return run;
    });
  }

  /**
   * Measures updates of subscriptions to users while blocks are appended. Updates are not charged.
   */
  async update(users: readonly string[]): Promise<Figures> {
    const wishes = drawWishes('updates', { users, dexes: [''] }, SUBSCRIBERS);
    const { plain: port } = this.#ports;
    const clients = await startClients({ port, secret: this.keys.key, wishes });
    try {
      return await this.#measure(async (seconds) => {
        // The time is long enough for whole blocks, of which there are ten a second.
        const received = await clients.measure(Math.max(1, 4 * seconds));
        return {
          answered: received.updatesPerSecond * Math.max(1, 4 * seconds),
          bytes: Math.round(received.bytesPerUpdate),
          statuses: { frame: 1 },
        };
      });
    } finally {
      clients.stop();
    }
  }

  async #measure(askFor: AskFor): Promise<Figures> {
    const { warmUp, measured, slices } = this.#durations;
    await askFor(warmUp);
    let seconds = measured;
    let figures = await this.#time(askFor, seconds);
    while (figures.run.answered < ANSWERED_MIN && seconds < SECONDS_MAX) {
      seconds *= 4;
      figures = await this.#time(askFor, seconds);
    }
    this.#slices.start();
    await askFor((slices * seconds) / measured);
    return { ...figures, sliceMs: await this.#slices.stop() };
  }

  async #time(askFor: AskFor, seconds: number): Promise<Omit<Figures, 'sliceMs'>> {
    this.#budgets.takeCharges();
    const startedMs = performance.now();
    const before = process.cpuUsage();
    const run = await askFor(seconds);
    const { user, system } = process.cpuUsage(before);
    const tookMs = performance.now() - startedMs;
    const following = this.#followingCores * tookMs * 1000;
    const charged = this.#budgets.takeCharges().reduce((sum, { weight }) => sum + weight, 0);
    const microseconds = (user + system - following) / run.answered;
    return { microseconds, weight: charged / run.answered, run };
  }
}

async function createKeys(folder: string): Promise<Keys> {
  const key = await createKey(folder, LARGE_BUDGET);
  const spentKeys: string[] = [];
  while (spentKeys.length < SPENT_KEYS) spentKeys.push(await createKey(folder, SMALL_BUDGET));
  return { key, spentKeys };
}

/**
 * Opens two services on one state. One of them forwards questions to a follower that has the
 * answers.
 */
export async function openWeightsService(
  folder: string,
  { height }: WeightsData,
  durations: Durations,
): Promise<WeightsService> {
  const keys = await createKeys(folder);
  const budgets = new Budgets();
  const ground = await openGround(folder);
  const ledger = await openEmbeddedLedger(folder);
  const history = new ArchiveLink(folder, { ledger, isKept: true, warn: console.log });
  const stub = await startStubFollower(folder);
  const follower = new ChannelClient(new SocketChannel(folder));
  const shared = { budgets, isChecked: false } as const;
  const settings = { minHeightWait: 1000, pushInterval: 0 };
  const plain = createInProcess(ground, { ...shared, history, settings });
  const forward = { ...settings, forward: true };
  const forwarding = createInProcess(ground, { ...shared, follower, settings: forward });
  const ports = {
    plain: await listenLocally(plain.server),
    forwarding: await listenLocally(forwarding.server),
  };
  while ((ground.live.state?.height ?? 0) < height) await sleep(20);
  return new WeightsService(keys, ports, budgets, durations, async () => {
    plain.close();
    forwarding.close();
    await follower.close();
    await stub.stop();
    for (const opened of [history, ledger, ground]) await opened.close();
  });
}
