/** The effect of a fill on a user's cash and position, from docs/reference/events.md. */

import type { NaiveAccount, NaiveHolding, NaiveMarket, NaivePosition } from './naive-state.ts';
import { floor, rational } from './rational.ts';

export type FillBranch = 'open' | 'grow' | 'shrink' | 'shrink under water' | 'close' | 'flip';

export interface Trade {
  /** The signed size; a positive size buys. */
  size: bigint;
  price: bigint;
  fee: bigint;
}

function magnitudeOf(value: bigint): bigint {
  return value < 0n ? -value : value;
}

/**
 * Books the USD part of a trade, and the transfer between the cash and the isolated position that
 * belongs to the trade.
 */
function settle(
  account: NaiveAccount,
  holding: NaiveHolding,
  position: NaivePosition,
  { paid, moved }: { paid: bigint; moved: bigint },
): void {
  if (holding.mode === 'cross') {
    account.cash -= paid;
  } else {
    account.cash -= moved;
    position.rawUsd += moved - paid;
  }
}

/** Opens a position or grows the existing one. */
function enlarge(
  market: NaiveMarket,
  account: NaiveAccount,
  holding: NaiveHolding,
  { size, price }: Trade,
): void {
  holding.position ??= { szi: 0n, entryNtl: 0n, rawUsd: 0n, sinceOpen: 0n, sinceChange: 0n };
  const { position } = holding;
  const dearer = price > market.markPx ? price : market.markPx;
  const moved = floor(rational(magnitudeOf(size) * dearer, holding.leverage));
  settle(account, holding, position, { paid: size * price, moved });
  position.szi += size;
  position.entryNtl += magnitudeOf(size) * price;
  position.sinceChange = 0n;
}

/** The exchange's own arithmetic: in doubles, with the division first. */
function entryAfterShrinking(entryNtl: bigint, rest: bigint, size: bigint): bigint {
  return BigInt(Math.trunc(Number(entryNtl) * (Number(rest) / Number(size))));
}

/** Shrinks a position, and returns whether its equity was negative. */
function shrink(
  account: NaiveAccount,
  holding: NaiveHolding,
  position: NaivePosition,
  { size, price }: Trade,
): boolean {
  const whole = magnitudeOf(position.szi);
  const equity = position.rawUsd + position.szi * price;
  const returned = equity < 0n ? 0n : floor(rational(equity * magnitudeOf(size), whole));
  settle(account, holding, position, { paid: size * price, moved: -returned });
  position.szi += size;
  position.entryNtl = entryAfterShrinking(position.entryNtl, magnitudeOf(position.szi), whole);
  position.sinceChange = 0n;
  return holding.mode === 'isolated' && equity < 0n;
}

/** Closes a position, and moves its remaining amount, which may be a debt, to cash. */
function close(
  account: NaiveAccount,
  holding: NaiveHolding,
  position: NaivePosition,
  price: bigint,
): void {
  account.cash += position.rawUsd + position.szi * price;
  holding.position = undefined;
  holding.ownTiers = undefined;
}

function exchange(
  market: NaiveMarket,
  account: NaiveAccount,
  holding: NaiveHolding,
  trade: Trade,
): FillBranch {
  const { position } = holding;
  if (position === undefined || position.szi > 0n === trade.size > 0n) {
    enlarge(market, account, holding, trade);
    return position === undefined ? 'open' : 'grow';
  }
  if (magnitudeOf(trade.size) < magnitudeOf(position.szi)) {
    return shrink(account, holding, position, trade) ? 'shrink under water' : 'shrink';
  }
  close(account, holding, position, trade.price);
  const rest = trade.size + position.szi;
  if (rest === 0n) return 'close';
  enlarge(market, account, holding, { ...trade, size: rest });
  return 'flip';
}

export function fillNaively(
  market: NaiveMarket,
  account: NaiveAccount,
  holding: NaiveHolding,
  trade: Trade,
): FillBranch {
  const branch = exchange(market, account, holding, trade);
  if (holding.mode === 'isolated' && holding.position !== undefined) {
    holding.position.rawUsd -= trade.fee;
  } else {
    account.cash -= trade.fee;
  }
  return branch;
}
