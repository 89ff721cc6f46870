/**
 * Whom the events of a block concern, and what only events tell: transfers, traded volume, and why a
 * position changed.
 */

import type { Block, Event, EventOf } from '../events/event.ts';
import { readUnits } from '../events/fields.ts';
import type { Address } from '../exact/address.ts';
import { add, type Exact, multiply } from '../exact/decimal.ts';
import type { StateView } from '../state/state.ts';
import { type ChangeCause, causeBit } from './account-versions.ts';
import type { AccountId } from './archive-tables.ts';

/** What a block's events did to an account. */
export interface AccountEffect extends AccountId {
  transfers: Exact;
  volume: Exact;
  /** The markets in which events name the account, ascending, and after each the bits of its causes. */
  readonly causes: number[];
  /** An event has replaced the whole account: any of its positions may have changed. */
  isReplaced: boolean;
}

/** Why a block may have changed the account's position in a market. */
export function causesOf({ causes, isReplaced }: AccountEffect, market: number): number {
  return findCauses(causes, market) | (isReplaced ? causeBit('account') : 0);
}

function findCauses(causes: readonly number[], market: number): number {
  for (let index = 0; index < causes.length; index += 2) {
    if (causes[index] === market) return causes[index + 1];
  }
  return 0;
}

/** A number that identifies an account. */
export function numberAccount(addressRow: number, dexIndex: number): number {
  return addressRow * 2 ** 16 + dexIndex;
}

export class BlockEffects {
  readonly #state: StateView;
  /** By account number. */
  readonly accounts = new Map<number, AccountEffect>();
  /** The rows of users whose delegations may have changed. */
  readonly delegators = new Set<number>();

  /** `state` is the state after the block. */
  constructor(state: StateView, block: Block) {
    this.#state = state;
    for (const event of block.events) this.#note(event);
  }

  #note({ type, fields }: Event): void {
    switch (type) {
      case 'accountTime':
      case 'orderMargin':
      case 'collateral':
        this.#onDex(fields);
        break;
      case 'account':
        this.#onDex(fields).isReplaced = true;
        break;
      case 'transfer':
        this.#noteTransfer(fields);
        break;
      case 'leverage':
      case 'isolatedMargin':
        this.#inMarket(fields.user, this.#marketOf(fields.coin), type);
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
    for (const { user } of payments) this.#inMarket(user, market, 'funding');
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

  #inMarket(user: Address, market: number, cause: ChangeCause): AccountEffect {
    const effect = this.#account(user, this.#state.markets.markets[market].dexIndex);
    noteCause(effect.causes, market, causeBit(cause));
    return effect;
  }

  /** The block has been applied, so the coin is known. */
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

function noteCause(causes: number[], market: number, bit: number): void {
  let end = causes.length;
  while (end > 0 && causes[end - 2] > market) end -= 2;
  if (end > 0 && causes[end - 2] === market) causes[end - 1] |= bit;
  else if (end === causes.length) causes.push(market, bit);
  else causes.splice(end, 0, market, bit);
}
