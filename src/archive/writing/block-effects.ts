/**
 * Notes the accounts that the events of a block concern, and facts that only the events contain:
 * transfers, traded volume, and why a position changed.
 */

import type { Event, EventOf } from '../../events/event.ts';
import { readUnits } from '../../events/fields.ts';
import type { Address } from '../../exact/address.ts';
import { add, type Exact, multiply } from '../../exact/decimal.ts';
import { findAccount, findPosition } from '../../state/accounts.ts';
import type { EventWatcher } from '../../state/fold.ts';
import type { StateView } from '../../state/state.ts';
import * as column from '../../state/tables/columns.ts';
import { marketOfTerms } from '../../state/tables/columns.ts';
import { type ChangeCause, causeBit } from '../records/account-versions.ts';
import type { AccountId } from '../records/archive-tables.ts';
import { ARCHIVED_CELLS, PositionCells, readCells } from '../records/position-cells.ts';

/** The effects of the events of a block on an account. */
export interface AccountEffect extends AccountId {
  transfers: Exact;
  volume: Exact;
  /**
   * The markets in which events have changed the position, in ascending order. Each market is
   * followed by the bits of the causes.
   */
  readonly causes: number[];
  /**
   * True if an event has replaced the whole account, so that any of its positions may have changed.
   */
  isReplaced: boolean;
}

/**
 * Returns the bits of the causes for which the block has changed the account's position in a
 * market; returns 0 if no event is known to have changed it.
 */
export function causesOf({ causes }: AccountEffect, market: number): number {
  for (let index = 0; index < causes.length; index += 2) {
    if (causes[index] === market) return causes[index + 1];
  }
  return 0;
}

/** A number that identifies an account. */
export function numberAccount(addressRow: number, dexIndex: number): number {
  return addressRow * 2 ** 16 + dexIndex;
}

/** Notes the effects of a block while the block is applied. */
export class BlockEffects implements EventWatcher {
  readonly #state: StateView;
  /** The effects, by account number. */
  readonly accounts = new Map<number, AccountEffect>();
  /** The rows of users whose delegations may have changed. */
  readonly delegators = new Set<number>();
  /** The positions that the event concerns, as they were before the event. */
  #before = NO_POSITIONS;

  constructor(state: StateView) {
    this.#state = state;
  }

  /**
   * Notes the positions before an event of these two types, because only a comparison shows whether
   * it has changed them.
   */
  before({ type, fields }: Event): void {
    if (type === 'account') {
      const dexIndex = this.#state.markets.findDex(fields.dex);
      if (dexIndex !== undefined) this.#before = this.#positionsOf(fields.user, dexIndex);
    } else if (type === 'leverage') {
      const market = this.#state.markets.findMarket(fields.coin);
      if (market !== undefined) this.#before = this.#positionIn(fields.user, market);
    }
  }

  #positionsOf(user: Address, dexIndex: number): PositionCells {
    const found = new PositionCells();
    const { accounts, positions } = this.#state;
    const account = this.#findAccount(user, dexIndex);
    let row = account === 0 ? 0 : accounts.get(account, column.FIRST_POSITION);
    for (; row !== 0; row = positions.get(row, column.NEXT_POSITION)) this.#add(found, row);
    return found;
  }

  #positionIn(user: Address, market: number): PositionCells {
    const found = new PositionCells();
    const account = this.#findAccount(user, this.#state.markets.markets[market].dexIndex);
    const row = account === 0 ? 0 : findPosition(this.#state, account, market);
    if (row !== 0) this.#add(found, row);
    return found;
  }

  #findAccount(user: Address, dexIndex: number): number {
    return findAccount(this.#state, this.#state.addresses.find(user), dexIndex);
  }

  #add(positions: PositionCells, row: number): void {
    const market = marketOfTerms(this.#state.positions.get(row, column.TERMS));
    readCells(positions.cells, positions.findOrAdd(market), this.#state, row);
  }

  after({ type, fields }: Event): void {
    switch (type) {
      case 'accountTime':
      case 'orderMargin':
      case 'collateral':
        this.#onDex(fields);
        break;
      case 'account':
        this.#noteAccount(fields);
        break;
      case 'transfer':
        this.#noteTransfer(fields);
        break;
      case 'leverage':
        this.#noteLeverage(fields);
        break;
      case 'isolatedMargin':
        this.#inMarket(fields.user, this.#marketOf(fields.coin), fields.amount !== 0 && type);
        break;
      case 'fill':
        this.#noteFill(fields);
        break;
      case 'funding':
        this.#noteFunding(fields);
        break;
      case 'delegate':
      case 'undelegate':
      case 'delegationReward':
      case 'delegation':
      case 'delegations':
        this.delegators.add(this.#state.addresses.find(fields.user));
        break;
      default:
      // Dexes, markets, marks and the auction concern no account.
    }
  }

  #noteTransfer(fields: EventOf<'transfer'>): void {
    const effect = this.#onDex(fields);
    effect.transfers = add(effect.transfers, fields.amount);
  }

  #noteFunding({ coin, payments }: EventOf<'funding'>): void {
    const market = this.#marketOf(coin);
    for (const { user, amount } of payments) {
      this.#inMarket(user, market, amount !== 0 && 'funding');
    }
  }

  #noteAccount({ user, dex }: EventOf<'account'>): void {
    const effect = this.#onDex({ user, dex });
    effect.isReplaced = true;
    const after = this.#positionsOf(user, effect.dexIndex);
    for (const market of after.markets) {
      if (isChanged(this.#before, after, market)) {
        noteCause(effect.causes, market, causeBit('account'));
      }
    }
  }

  #noteLeverage({ user, coin }: EventOf<'leverage'>): void {
    const market = this.#marketOf(coin);
    const after = this.#positionIn(user, market);
    this.#inMarket(user, market, isChanged(this.#before, after, market) && 'leverage');
  }

  #noteFill({ user, coin, sz, px }: EventOf<'fill'>): void {
    const market = this.#marketOf(coin);
    const effect = this.#inMarket(user, market, 'fill');
    const { sizeDecimals, priceDecimals } = this.#state.markets.markets[market];
    const value = multiply(readUnits('sz', sz, sizeDecimals), readUnits('px', px, priceDecimals));
    effect.volume = add(effect.volume, value);
  }

  #onDex({ user, dex }: { user: Address; dex: string }): AccountEffect {
    return this.#account(user, this.#state.markets.findDex(dex) as number);
  }

  /** `cause` is false if the event has changed nothing. */
  #inMarket(user: Address, market: number, cause: ChangeCause | false): AccountEffect {
    const effect = this.#account(user, this.#state.markets.markets[market].dexIndex);
    if (cause !== false) noteCause(effect.causes, market, causeBit(cause));
    return effect;
  }

  /** The event has been applied, so the coin is known. */
  #marketOf(coin: string): number {
    return this.#state.markets.findMarket(coin) as number;
  }

  #account(user: Address, dexIndex: number): AccountEffect {
    const addressRow = this.#state.addresses.find(user);
    const number = numberAccount(addressRow, dexIndex);
    let effect = this.accounts.get(number);
    if (effect === undefined) {
      effect = { addressRow, dexIndex, transfers: 0, volume: 0, causes: [], isReplaced: false };
      this.accounts.set(number, effect);
    }
    return effect;
  }
}

const NO_POSITIONS = new PositionCells();

function isChanged(before: PositionCells, after: PositionCells, market: number): boolean {
  const [old, now] = [before.find(market), after.find(market)];
  if (old === -1) return true;
  for (let cell = 0; cell < ARCHIVED_CELLS; cell++) {
    if (before.cells[old + cell] !== after.cells[now + cell]) return true;
  }
  return false;
}

function noteCause(causes: number[], market: number, bit: number): void {
  let end = causes.length;
  while (end > 0 && causes[end - 2] > market) end -= 2;
  if (end > 0 && causes[end - 2] === market) causes[end - 1] |= bit;
  else if (end === causes.length) causes.push(market, bit);
  else causes.splice(end, 0, market, bit);
}
