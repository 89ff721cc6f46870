/**
 * The conservation law: whatever the blocks, an account's value changes only
 * by transfers, fees, funding, szi * (change of mark) and, at a fill, d * (mark - px). The book below
 * knows nothing of margin modes, leverage or entry prices, because the law does not.
 */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { parseBlock } from '../../src/events/event.ts';
import { BlockError } from '../../src/events/refusal.ts';
import { parseAddress } from '../../src/exact/address.ts';
import { answerQuestion } from '../../src/info/registry.ts';
import { applyBlock } from '../../src/state/fold.ts';
import { isAccountKnown } from '../../src/state/known.ts';
import { createState, type State } from '../../src/state/state.ts';
import { ALSO_FULL, scale } from '../scale.ts';
import { SEED_NOTE } from '../seed.ts';
import { assertCovered } from './coverage.ts';
import type { WireBlock, WireEvent, WireEventOf } from './naive-block.ts';
import { readDecimal, writeDecimal } from './naive-decimal.ts';
import { type BlockSteps, blockAfter, FIRST_BLOCK, randomBlock, USERS } from './random-events.ts';
import { Tally } from './tally.ts';

const SEQUENCES_MAX = 400;
const SEQUENCES = scale(20, SEQUENCES_MAX / 4, SEQUENCES_MAX);
const BLOCKS_MAX = 150;

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

function usdOf(text: string): bigint {
  return unitsOf(text, 6);
}

/** The value of every account, computed from the accepted events. */
class Book {
  readonly dexes = new Set(['']);
  readonly #markets = new Map<string, BookMarket>();
  readonly #values = new Map<string, bigint>();

  valueOf(user: string, dex: string): bigint {
    return this.#values.get(`${user} ${dex}`) ?? 0n;
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
        this.#add(event.user, event.dex, usdOf(event.amount));
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

function applyWhereAccepted(state: State, book: Book, block: WireBlock, tally: Tally): void {
  try {
    applyBlock(state, parseBlock(JSON.stringify(block)));
  } catch (error) {
    if (error instanceof BlockError) return;
    throw error;
  }
  for (const event of block.events) {
    book.record(event);
    tally.count(event.type);
  }
}

/** A partial ledger does not answer for an account that no event has named. */
function isHeld(state: State, user: string, dexIndex: number): boolean {
  const address = parseAddress(user);
  return !state.isPartial || (address !== undefined && isAccountKnown(state, address, dexIndex));
}

function compareValues(state: State, book: Book, block: WireBlock): void {
  for (const user of USERS) {
    for (const [dexIndex, dex] of [...book.dexes].entries()) {
      if (!isHeld(state, user, dexIndex)) continue;
      const answer = JSON.parse(answerQuestion(state, { type: 'clearinghouseState', user, dex }));
      const expected = writeDecimal(book.valueOf(user, dex), 6);
      const where = `${user} on "${dex}" after ${JSON.stringify(block)}`;
      assert.equal(answer.marginSummary.accountValue, expected, where);
    }
  }
}

function checkSequence(tally: Tally, sequence: readonly BlockSteps[]): void {
  const state = createState();
  const book = new Book();
  applyWhereAccepted(state, book, FIRST_BLOCK, tally);
  for (const steps of sequence) {
    const block = blockAfter(state, steps);
    applyWhereAccepted(state, book, block, tally);
    compareValues(state, book, block);
  }
}

const TYPES = ['fill', 'funding', 'isolatedMargin', 'leverage', 'market', 'marks', 'transfer'];

test(
  `an account's value changes only as the conservation law allows ${SEED_NOTE}`,
  ALSO_FULL,
  (context) => {
    const tally = new Tally();
    const sequences = fc.array(randomBlock, { maxLength: BLOCKS_MAX, size: 'max' });
    assertCovered(
      fc.property(sequences, (sequence) => checkSequence(tally, sequence)),
      { tally, branches: TYPES, cases: SEQUENCES, casesMax: SEQUENCES_MAX },
    );
    context.diagnostic(tally.describe());
  },
);
