/**
 * The truth: the stub's ledger, read from its file and applied block by block. It has the state of
 * every account, market, list of delegations and auction at any time.
 */

import { closeSync, openSync, readSync } from 'node:fs';
import { parseBlock } from '../../src/events/event.ts';
import { formatAddress } from '../../src/exact/address.ts';
import { answerQuestion } from '../../src/info/read-question.ts';
import { findAccount } from '../../src/state/accounts.ts';
import { FIRST_ACCOUNT } from '../../src/state/addresses.ts';
import type { Auction } from '../../src/state/auction.ts';
import { accountFigures, type PositionFigures } from '../../src/state/figures/figures.ts';
import { applyBlock } from '../../src/state/fold.ts';
import type { Market } from '../../src/state/markets/markets.ts';
import { createState } from '../../src/state/state.ts';
import { CASH, COLLATERAL, ORDER_MARGIN } from '../../src/state/tables/columns.ts';
import type { NaiveAccount, NaiveHolding, NaiveTier } from '../naive-twin/naive-state.ts';
import { isFollowed } from './dialect-modes.ts';
import { timeOfLine } from './exchange.ts';
import { History } from './history.ts';

/** The stored data of an account. All other figures are computed from this data and the marks. */
export interface TrueAccount {
  readonly account: Omit<NaiveAccount, 'time'>;
  /** The holdings by coin. Each has a position. */
  readonly holdings: Readonly<Record<string, NaiveHolding>>;
}

export interface TrueMarket {
  readonly dex: string;
  readonly szDecimals: number;
  readonly onlyIsolated: boolean;
  readonly tiers: History<readonly NaiveTier[]>;
  readonly mark: History<bigint>;
}

const NOTHING: TrueAccount = {
  account: { cash: 0n, orderMargin: 0n, collateral: 0n },
  holdings: {},
};

export class Truth {
  readonly #file: string;
  #readBytes = 0;
  #rest = '';
  readonly #state = createState();
  readonly #accounts = new Map<string, History<TrueAccount>>();
  readonly #delegations = new Map<string, History<unknown>>();
  readonly #blockTimes = new Set<number>();
  /** The markets by coin, in the order of their listing. */
  readonly markets = new Map<string, TrueMarket>();
  readonly auction = new History<Auction | null>();

  constructor(file: string) {
    this.#file = file;
    this.refresh();
  }

  get time(): number {
    return this.#state.time;
  }

  get dexes(): readonly string[] {
    return this.#state.markets.dexes.map(({ name }) => name);
  }

  /** The users with an account that a ledger can record, as of the last refresh. */
  get users(): readonly string[] {
    return this.#listUsers().filter(isFollowed);
  }

  /**
   * The users with an account that a ledger cannot record. A follower answers with the exchange's
   * own answer.
   */
  get otherUsers(): readonly string[] {
    return this.#listUsers().filter((user) => !isFollowed(user));
  }

  #listUsers(): string[] {
    return this.#listRows().map((row) => formatAddress(this.#state.addresses.addressOf(row)));
  }

  #listRows(): number[] {
    const { table } = this.#state.addresses;
    const rows = Array.from({ length: table.rowCount - 1 }, (_, index) => index + 1);
    return rows.filter((row) => table.get(row, FIRST_ACCOUNT) !== 0);
  }

  isBlockTime(time: number): boolean {
    return this.#blockTimes.has(time);
  }

  accountAt(user: string, dex: string, time: number): TrueAccount {
    return this.#accounts.get(`${user} ${dex}`)?.at(time) ?? NOTHING;
  }

  /** Returns the lists that were true at some time between two times, in the form of answers. */
  delegationsBetween(user: string, from: number, to: number): readonly unknown[] {
    const history = this.#delegations.get(user);
    const known = history?.between(from, to) ?? [];
    return history?.at(from) === undefined ? [[], ...known] : known;
  }

  /** Reads the blocks that the stub has written since the last refresh. */
  refresh(): void {
    const lines = `${this.#rest}${this.#readFile()}`.split('\n');
    this.#rest = lines.pop() ?? '';
    for (const line of lines) this.#add(line);
  }

  #readFile(): string {
    const file = openSync(this.#file, 'r');
    try {
      const chunks: Buffer[] = [];
      for (;;) {
        const chunk = Buffer.alloc(1 << 20);
        const count = readSync(file, chunk, 0, chunk.length, this.#readBytes);
        if (count === 0) return Buffer.concat(chunks).toString();
        this.#readBytes += count;
        chunks.push(chunk.subarray(0, count));
      }
    } finally {
      closeSync(file);
    }
  }

  #add(line: string): void {
    applyBlock(this.#state, parseBlock(line));
    this.#blockTimes.add(timeOfLine(line));
    for (const [index, market] of this.#state.markets.markets.entries()) {
      this.#addMarket(index, market);
    }
    for (const row of this.#listRows()) this.#addUser(row);
    this.auction.add(this.time, this.#state.auction ?? null);
  }

  #addMarket(index: number, market: Market): void {
    const { coin, dexIndex, sizeDecimals: szDecimals, onlyIsolated, tiers } = market;
    const known = this.markets.get(coin) ?? {
      dex: this.dexes[dexIndex],
      szDecimals,
      onlyIsolated,
      tiers: new History<readonly NaiveTier[]>(),
      mark: new History<bigint>(),
    };
    this.markets.set(coin, known);
    known.mark.add(this.time, BigInt(this.#state.markets.markPrice(index)));
    known.tiers.add(this.time, readTiers(tiers));
  }

  #addUser(row: number): void {
    const user = formatAddress(this.#state.addresses.addressOf(row));
    for (const [dexIndex, dex] of this.dexes.entries()) {
      const account = findAccount(this.#state, row, dexIndex);
      if (account === 0) continue;
      historyOf(this.#accounts, `${user} ${dex}`).add(this.time, this.#readAccount(account));
    }
    const list = JSON.parse(answerQuestion(this.#state, { type: 'delegations', user }));
    historyOf(this.#delegations, user).add(this.time, list);
  }

  #readAccount(account: number): TrueAccount {
    const cell = (column: number) => BigInt(this.#state.accounts.get(account, column));
    const { positions } = accountFigures(this.#state, account);
    return {
      account: {
        cash: cell(CASH),
        orderMargin: cell(ORDER_MARGIN),
        collateral: cell(COLLATERAL),
      },
      holdings: Object.fromEntries(positions.map(readHolding)),
    };
  }
}

function historyOf<T>(histories: Map<string, History<T>>, key: string): History<T> {
  const history = histories.get(key) ?? new History<T>();
  histories.set(key, history);
  return history;
}

function readTiers(tiers: PositionFigures['tiers']): NaiveTier[] {
  return tiers.map(({ lowerBound, maxLeverage }) => ({
    lowerBound: BigInt(lowerBound),
    maxLeverage,
  }));
}

/** Reads only the stored data, because the fold and the figures have their own naive twins. */
function readHolding(position: PositionFigures): [string, NaiveHolding] {
  const { market, isIsolated, leverage, size, entryNotional, rawUsd } = position;
  const holding: NaiveHolding = {
    mode: isIsolated ? 'isolated' : 'cross',
    leverage,
    allTime: BigInt(position.fundingAllTime),
    position: {
      szi: BigInt(size),
      entryNtl: BigInt(entryNotional),
      rawUsd: isIsolated ? BigInt(rawUsd) : 0n,
      sinceOpen: BigInt(position.fundingSinceOpen),
      sinceChange: BigInt(position.fundingSinceChange),
    },
    ownTiers: position.tiers === market.tiers ? undefined : readTiers(position.tiers),
  };
  return [market.coin, holding];
}
