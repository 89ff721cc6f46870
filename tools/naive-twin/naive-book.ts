/**
 * A naive book of accounts. An account's value changes only by transfers, fees, funding, szi *
 * (change of mark) and, at a fill, d * (mark - px). The book does not use margin modes, leverage or
 * entry prices, because this rule does not depend on them.
 */

import assert from 'node:assert/strict';
import type { WireEvent, WireEventOf } from './naive-block.ts';
import { readDecimal } from './naive-decimal.ts';

interface BookMarket {
  dex: string;
  szDecimals: number;
  mark: bigint;
  sizeByUser: Map<string, bigint>;
}

function unitsOf(text: string, decimals: number): bigint {
  const units = readDecimal(text, decimals);
  assert.ok(units !== undefined, text);
  return units;
}

/** Returns the amount in millionths of a dollar. */
export function usdOf(text: string): bigint {
  return unitsOf(text, 6);
}

/** The value of every account, computed from the accepted events. */
export class Book {
  readonly dexes = new Set(['']);
  readonly #markets = new Map<string, BookMarket>();
  readonly #values = new Map<string, bigint>();
  /** The amount that was transferred to each account, or that the account had at its start. */
  readonly #transfers = new Map<string, bigint>();

  /** Returns the value of an account, in millionths of a dollar like all amounts of the book. */
  valueOf(user: string, dex: string): bigint {
    return this.#values.get(`${user} ${dex}`) ?? 0n;
  }

  /** Returns the profit of an account from marks, fills, fees and funding. */
  profitOf(user: string, dex: string): bigint {
    return this.valueOf(user, dex) - (this.#transfers.get(`${user} ${dex}`) ?? 0n);
  }

  record(event: WireEvent): void {
    switch (event.type) {
      case 'perpDex':
        this.dexes.add(event.dex);
        break;
      case 'market':
        this.#recordMarket(event);
        break;
      case 'marks':
        for (const [coin, price] of Object.entries(event.prices)) this.#mark(coin, price);
        break;
      case 'account':
        this.#recordAccount(event);
        break;
      case 'transfer':
        this.#recordTransfer(event);
        break;
      case 'fill':
        this.#recordFill(event);
        break;
      case 'funding':
        for (const [user, amount] of event.payments) {
          this.#add(user, this.#market(event.coin).dex, -usdOf(amount));
        }
        break;
    }
  }

  #recordTransfer({ user, dex, amount }: WireEventOf<'transfer'>): void {
    const key = `${user.toLowerCase()} ${dex}`;
    this.#add(user, dex, usdOf(amount));
    this.#transfers.set(key, (this.#transfers.get(key) ?? 0n) + usdOf(amount));
  }

  #market(coin: string): BookMarket {
    const market = this.#markets.get(coin);
    assert.ok(market !== undefined, coin);
    return market;
  }

  #add(user: string, dex: string, change: bigint): void {
    const key = user.toLowerCase();
    this.#values.set(`${key} ${dex}`, this.valueOf(key, dex) + change);
  }

  #recordMarket({ coin, dex, szDecimals, markPx }: WireEventOf<'market'>): void {
    if (!this.#markets.has(coin)) {
      this.#markets.set(coin, { dex, szDecimals, mark: 0n, sizeByUser: new Map() });
    }
    this.#mark(coin, markPx);
  }

  #mark(coin: string, price: string): void {
    const market = this.#market(coin);
    const markNext = unitsOf(price, 6 - market.szDecimals);
    for (const [user, size] of market.sizeByUser) {
      this.#add(user, market.dex, size * (markNext - market.mark));
    }
    market.mark = markNext;
  }

  #recordAccount({ user, dex, rawUsd, positions }: WireEventOf<'account'>): void {
    const key = user.toLowerCase();
    for (const market of this.#markets.values()) {
      if (market.dex === dex) market.sizeByUser.delete(key);
    }
    let value = usdOf(rawUsd);
    for (const { coin, szi, leverage } of positions) {
      const market = this.#market(coin);
      const size = unitsOf(szi, market.szDecimals);
      market.sizeByUser.set(key, size);
      value += size * market.mark;
      if (leverage.type === 'isolated') value += usdOf(leverage.rawUsd);
    }
    // The first value of an account is not a profit.
    const isNew = !this.#values.has(`${key} ${dex}`);
    if (isNew) this.#transfers.set(`${key} ${dex}`, value);
    this.#values.set(`${key} ${dex}`, value);
  }

  #recordFill({ user, coin, side, sz, px, fee }: WireEventOf<'fill'>): void {
    const market = this.#market(coin);
    const key = user.toLowerCase();
    const change = unitsOf(sz, market.szDecimals) * (side === 'B' ? 1n : -1n);
    const price = unitsOf(px, 6 - market.szDecimals);
    market.sizeByUser.set(key, (market.sizeByUser.get(key) ?? 0n) + change);
    this.#add(user, market.dex, change * (market.mark - price) - usdOf(fee));
  }
}
