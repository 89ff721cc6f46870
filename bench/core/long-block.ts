/**
 * Measures the longest time for which a replica works without a pause while a long block arrives. A
 * request may have to wait for this time. The reference is the time that a similar block takes in
 * one go. The times are processor times, because other programs may be busy on the same machine.
 * They include the threads of the garbage collector.
 *
 *   node build/bench/core/long-block.js [accounts]
 */

import { setImmediate as nextTurn } from 'node:timers/promises';
import { CHAIN_START, nextBlock } from '../../src/ledger/hash-chain.ts';
import type { Ledger, StoredBlock } from '../../src/ledger/ledger.ts';
import { Replica } from '../../src/replica/replica.ts';
import { createState } from '../../src/state/state.ts';
import { spreadOf } from '../frame/measure.ts';
import { setUpLines, usersOf } from '../servers/dataset.ts';

const ACCOUNTS = Number(process.argv[2] ?? 20_000);
const EVENTS = 5_000;
const PAYMENTS = 15_000;
const MARKETS = 3_000;
const ROUNDS = 30;
/** The first rounds, which do not count because the engine still optimises the code. */
const WARM_UP_ROUNDS = 10;

type Line = (height: number, time: number) => Buffer;

function lineOf(height: number, time: number, events: readonly object[]): Buffer {
  return Buffer.from(JSON.stringify({ height, time, events }));
}

/** Returns blocks of trades and transfers of many users, some of them new. */
function trades(users: readonly string[], coin: string): Line {
  return (height, time) => {
    const events = Array.from({ length: EVENTS }, (_, index) => {
      const isNew = index % 50 === 0;
      const known = users[(index * 7919 + height) % users.length];
      const user = isNew ? `0x${`${height}e${index}`.padStart(40, '0')}` : known;
      if (index % 5 === 0) return { type: 'transfer', user, dex: '', amount: '10.5' };
      const [side, sz, px, fee] = [index % 2 === 0 ? 'B' : 'A', '0.1', '100.5', '0.02'];
      return { type: 'fill', user, coin, side, sz, px, fee };
    });
    return lineOf(height, time, events);
  };
}

/** Returns blocks with one event that pays funding to many users. */
function funding(users: readonly string[], coin: string): Line {
  return (height, time) => {
    const from = (height * 7919) % users.length;
    const paid = [...users.slice(from), ...users.slice(0, from)].slice(0, PAYMENTS);
    const payments = paid.map((user) => [user, '0.01']);
    return lineOf(height, time, [{ type: 'funding', coin, payments }]);
  };
}

/** Adds new markets, and returns their coins. */
function addMarkets(replica: Replica, count: number): string[] {
  const coins = Array.from({ length: count }, (_, index) => `M${index}`);
  const events = coins.map((coin) => ({
    type: 'market',
    dex: '',
    coin,
    szDecimals: 2,
    marginTiers: [{ lowerBound: '0.0', maxLeverage: 10 }],
    onlyIsolated: false,
    markPx: '5.0',
  }));
  replica.extend(lineOf(replica.point.height + 1, replica.state.time, events));
  return coins;
}

/** Returns blocks with one event that changes the price of each market. */
function marks(coins: readonly string[]): Line {
  return (height, time) => {
    const prices = Object.fromEntries(coins.map((coin) => [coin, `${height}.5`]));
    return lineOf(height, time, [{ type: 'marks', prices }]);
  };
}

/** Returns blocks with one event that gives a user a position in each market. */
function positions(user: string, coins: readonly string[]): Line {
  return (height, time) => {
    const given = coins.map((coin) => ({
      coin,
      szi: `${height}.0`,
      entryNtl: '20.0',
      leverage: { type: 'cross', value: 7 },
      cumFunding: { allTime: '0.5', sinceOpen: '0.0', sinceChange: '0.0' },
    }));
    const account = { type: 'account', user, dex: '', rawUsd: '10.0', positions: given };
    return lineOf(height, time, [account]);
  };
}

function cpuMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}

/** Runs turns of the event loop without a pause, and notes the longest turn. */
class TurnClock {
  #isOver = false;
  #longestMs = 0;
  readonly #running = this.#run();

  async #run(): Promise<void> {
    let beforeMs = cpuMs();
    while (!this.#isOver) {
      await nextTurn();
      const nowMs = cpuMs();
      this.#longestMs = Math.max(this.#longestMs, nowMs - beforeMs);
      beforeMs = nowMs;
    }
  }

  async stop(): Promise<number> {
    this.#isOver = true;
    await this.#running;
    return this.#longestMs;
  }
}

/** Returns a ledger whose followers receive these blocks. */
function ledgerOf(blocks: readonly StoredBlock[]): Ledger {
  async function* follow(): AsyncGenerator<readonly StoredBlock[]> {
    await nextTurn();
    yield blocks;
  }
  return { follow } as Partial<Ledger> as Ledger;
}

function report(what: string, values: readonly number[]): void {
  const { median, max } = spreadOf(values);
  console.log(`  ${what.padEnd(28)} median ${median.toFixed(2)} ms, worst ${max.toFixed(2)} ms`);
}

async function measure(what: string, replica: Replica, line: Line): Promise<void> {
  const inOneGo: number[] = [];
  const longestTurn: number[] = [];
  let bytes = 0;
  for (let round = 0; round < ROUNDS; round++) {
    const next = () => nextBlock(replica.point, line(replica.point.height + 1, replica.state.time));
    const first = next();
    bytes = first.line.length;
    const startedMs = cpuMs();
    replica.apply(first);
    inOneGo.push(cpuMs() - startedMs);
    const second = next();
    const clock = new TurnClock();
    await replica.follow(ledgerOf([second]), new AbortController().signal);
    longestTurn.push(await clock.stop());
  }
  console.log(`${what}, ${(bytes / 1e3).toFixed(0)} kB`);
  report('in one go', inOneGo.slice(WARM_UP_ROUNDS));
  report('in turns: the longest one', longestTurn.slice(WARM_UP_ROUNDS));
}

const replica = new Replica(createState(), CHAIN_START);
for (const line of setUpLines(ACCOUNTS, 10)) replica.extend(Buffer.from(line));
const users = usersOf(replica.state);
const { coin } = replica.state.markets.markets[0];
const holders = users.map((user) => ({
  type: 'fill',
  user,
  coin,
  side: 'B',
  sz: '1000.0',
  px: '100.5',
  fee: '0.0',
}));
for (let from = 0; from < holders.length; from += EVENTS) {
  const { height } = replica.point;
  replica.extend(lineOf(height + 1, replica.state.time, holders.slice(from, from + EVENTS)));
}
await measure(`${EVENTS} events`, replica, trades(users, coin));
await measure(`${PAYMENTS} payments in one event`, replica, funding(users, coin));
const coins = addMarkets(replica, MARKETS);
await measure(`${MARKETS} prices in one event`, replica, marks(coins));
await measure(`${MARKETS} positions in one event`, replica, positions(users[0], coins));
