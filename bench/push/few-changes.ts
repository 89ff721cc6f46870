/**
 * Compares the cost of a block that changes one subscription in a hundred with the cost of a block
 * that changes all of them, and measures the time from the block to the client.
 */

import { setTimeout as sleep } from 'node:timers/promises';
import { openEmbeddedLedgerWriter } from '../../src/ledger/embedded/embedded-writer.ts';
import { nextBlock } from '../../src/ledger/hash-chain.ts';
import type { ChainPoint, LedgerWriter } from '../../src/ledger/ledger.ts';
import { drawWishes } from '../../test/push/crowd.ts';
import { spreadOf } from '../frame/measure.ts';
import { atMost, formatSpread, type Goal, printTable } from '../frame/report.ts';
import { startPerpinfo } from '../servers/servers.ts';
import { measureRound, type PushBenchOptions, type PushRound } from './round.ts';

const SUBSCRIPTIONS_EACH = 10;
const FEW_SHARE = 100;
/** The interval of blocks that change everything. It is long enough that all states are sent. */
const ALL_INTERVAL_MS = 1000;
const FEW_INTERVAL_MS = 100;

/** Appends a block of transfers to these users at each interval. */
class TransferFeed {
  readonly #ledger: LedgerWriter;
  readonly #users: readonly string[];
  readonly #intervalMs: number;
  #isOver = false;
  readonly #running: Promise<void>;
  blocks = 0;

  constructor(ledger: LedgerWriter, users: readonly string[], intervalMs: number) {
    this.#ledger = ledger;
    this.#users = users;
    this.#intervalMs = intervalMs;
    this.#running = this.#run();
  }

  async #run(): Promise<void> {
    let point: ChainPoint = await this.#ledger.head();
    while (!this.#isOver) {
      await sleep(this.#intervalMs);
      const events = this.#users.map((user) => ({
        type: 'transfer',
        user,
        dex: '',
        amount: '0.01',
      }));
      const line = JSON.stringify({ height: point.height + 1, time: Date.now(), events });
      const block = nextBlock(point, Buffer.from(line));
      await this.#ledger.append([block]);
      point = block;
      this.blocks++;
    }
  }

  async stop(): Promise<void> {
    this.#isOver = true;
    await this.#running;
  }
}

export async function benchFewChanges(options: PushBenchOptions): Promise<Goal[]> {
  const { folder, users, secret, connections, rounds, scale } = options;
  const sizes = { connections, each: SUBSCRIPTIONS_EACH };
  const wishes = drawWishes('few changes', { users, dexes: [''] }, sizes);
  const subscribed = [...new Set(wishes.flat().map(({ user }) => user))];
  const few = subscribed.slice(0, Math.round((connections * SUBSCRIPTIONS_EACH) / FEW_SHARE));
  const ledger = await openEmbeddedLedgerWriter(folder);
  const start = () =>
    startPerpinfo(folder, {
      workers: 1,
      flags: ['--push-interval', '0', '--overload-delay', '60000'],
    });
  const measure = async (changed: readonly string[], intervalMs: number) => {
    const feed = new TransferFeed(ledger, changed, intervalMs);
    const round = await measureRound(start, { scale, secret, wishes });
    await feed.stop();
    return { round, millisecondsPerBlock: round.serverCpu * intervalMs };
  };
  const all: { round: PushRound; millisecondsPerBlock: number }[] = [];
  const some: typeof all = [];
  try {
    for (let round = 0; round < rounds; round++) {
      all.push(await measure(subscribed, ALL_INTERVAL_MS));
      some.push(await measure(few, FEW_INTERVAL_MS));
    }
  } finally {
    await ledger.close();
  }
  return report(all, some, few.length);
}

function report(
  all: readonly { round: PushRound; millisecondsPerBlock: number }[],
  some: typeof all,
  fewCount: number,
): Goal[] {
  const row = (name: string, measured: typeof all) => [
    name,
    formatSpread(spreadOf(measured.map(({ millisecondsPerBlock }) => millisecondsPerBlock)), 1),
    formatSpread(spreadOf(measured.map(({ round }) => round.delayP50Ms)), 0),
    formatSpread(spreadOf(measured.map(({ round }) => round.updatesPerSecond)), 0),
  ];
  console.log('\nblocks of transfers, to all subscribed users and to some of them');
  printTable(
    ['', 'ms of processor a block', 'delay p50, ms', 'updates/s'],
    [row('all change', all), row(`${fewCount} change`, some)],
  );
  const shares = some.map(
    ({ millisecondsPerBlock }, index) => millisecondsPerBlock / all[index].millisecondsPerBlock,
  );
  const delays = some.map(({ round }) => round.delayP50Ms);
  return [
    atMost('processor time of a block that changes 1 % / all', 0.05, shares),
    atMost('block to push if 1 % changes, p50', 10, delays, 'ms'),
  ];
}
