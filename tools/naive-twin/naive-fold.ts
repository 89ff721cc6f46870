/**
 * The naive twin of the fold: applies every event of docs/reference/events.md to plain maps and
 * objects. A block is applied to a deep copy of the state, so a refused block only discards the
 * copy.
 */

import {
  DAY_MS,
  isWireEnvelope,
  isWireEvent,
  SAFE_MAX,
  STAKE_MAX,
  type WireEventOf,
  type WirePosition,
  type WireTier,
  type WireType,
} from './naive-block.ts';
import { readDecimal } from './naive-decimal.ts';
import { fillNaively } from './naive-fill.ts';
import {
  keyOf,
  type Mode,
  type NaiveAccount,
  type NaiveDelegation,
  type NaiveHolding,
  type NaiveMarket,
  type NaiveState,
  type NaiveTier,
} from './naive-state.ts';

type Reason = 'invalid' | 'not storable';

class NaiveRefusal extends Error {
  readonly reason: Reason;

  constructor(reason: Reason) {
    super(reason);
    this.reason = reason;
  }
}

function require(condition: boolean, reason: Reason = 'invalid'): asserts condition {
  if (!condition) throw new NaiveRefusal(reason);
}

function present<T>(value: T | undefined): T {
  require(value !== undefined);
  return value;
}

function amountOf(text: string, decimals: number): bigint {
  return present(readDecimal(text, decimals));
}

function isSafe(value: bigint): boolean {
  return value <= SAFE_MAX && value >= -SAFE_MAX;
}

function usdOf(text: string): bigint {
  return amountOf(text, 6);
}

function sizeOf(market: NaiveMarket, text: string): bigint {
  const size = amountOf(text, market.szDecimals);
  require(isSafe(size) && size !== 0n);
  return size;
}

function priceOf(szDecimals: number, text: string): bigint {
  const price = amountOf(text, 6 - szDecimals);
  require(isSafe(price) && price > 0n);
  return price;
}

function accountOf(state: NaiveState, user: string, dex: string): NaiveAccount {
  require(state.dexes.has(dex));
  const key = keyOf(user, dex);
  const account = state.accounts.get(key) ?? {
    cash: 0n,
    orderMargin: 0n,
    collateral: 0n,
    time: 0,
  };
  state.accounts.set(key, account);
  return account;
}

/** Returns a user's holding of a coin. The first use of a holding fixes its default leverage. */
function holdingOf(state: NaiveState, user: string, coin: string): NaiveHolding {
  const market = present(state.markets.get(coin));
  const key = keyOf(user, coin);
  const holding = state.holdings.get(key) ?? {
    mode: (market.onlyIsolated ? 'isolated' : 'cross') satisfies Mode,
    leverage: Math.min(20, market.tiers[0].maxLeverage),
    allTime: 0n,
    position: undefined,
    ownTiers: undefined,
  };
  state.holdings.set(key, holding);
  return holding;
}

/**
 * Throws if an amount cannot be stored. Only the results of an event must fit; intermediate values
 * may be larger.
 */
function requireStorable(account: NaiveAccount, holding?: NaiveHolding): void {
  require(isSafe(account.cash), 'not storable');
  if (holding === undefined) return;
  const { allTime, position } = holding;
  require(isSafe(allTime), 'not storable');
  const amounts = Object.values(position ?? {});
  require(amounts.every(isSafe), 'not storable');
}

function tiersOf(tiers: readonly WireTier[]): NaiveTier[] {
  const read = tiers.map(({ lowerBound, maxLeverage }) => ({
    lowerBound: usdOf(lowerBound),
    maxLeverage,
  }));
  require(read[0].lowerBound === 0n);
  require(read.every((tier, index) => index === 0 || read[index - 1].lowerBound < tier.lowerBound));
  return read;
}

function applyMarket(state: NaiveState, event: WireEventOf<'market'>): void {
  const { dex, coin, szDecimals, onlyIsolated } = event;
  require(state.dexes.has(dex));
  const name = dex === '' ? coin : coin.replace(`${dex}:`, '');
  require(/^[A-Za-z0-9]{1,20}$/.test(name) && coin === (dex === '' ? name : `${dex}:${name}`));
  const known = state.markets.get(coin);
  require(known === undefined || (known.dex === dex && known.szDecimals === szDecimals));
  const tiers = tiersOf(event.marginTiers);
  const markPx = priceOf(szDecimals, event.markPx);
  state.markets.set(coin, { dex, szDecimals, tiers, onlyIsolated, markPx });
}

function applyMarks(state: NaiveState, { prices }: WireEventOf<'marks'>): void {
  for (const [coin, price] of Object.entries(prices)) {
    const market = present(state.markets.get(coin));
    market.markPx = priceOf(market.szDecimals, price);
  }
}

function closeAllOn(state: NaiveState, user: string, dex: string): void {
  for (const [coin, market] of state.markets) {
    const holding = state.holdings.get(keyOf(user, coin));
    if (market.dex !== dex || holding === undefined) continue;
    holding.position = undefined;
    holding.ownTiers = undefined;
  }
}

function holdingFrom(market: NaiveMarket, position: WirePosition): NaiveHolding {
  const { leverage, cumFunding, marginTiers } = position;
  return {
    mode: leverage.type,
    leverage: leverage.value,
    allTime: usdOf(cumFunding.allTime),
    position: {
      szi: sizeOf(market, position.szi),
      entryNtl: usdOf(position.entryNtl),
      rawUsd: leverage.type === 'isolated' ? usdOf(leverage.rawUsd) : 0n,
      sinceOpen: usdOf(cumFunding.sinceOpen),
      sinceChange: usdOf(cumFunding.sinceChange),
    },
    ownTiers: marginTiers && tiersOf(marginTiers),
  };
}

function applyAccount(state: NaiveState, event: WireEventOf<'account'>): void {
  const { user, dex, positions } = event;
  const account = accountOf(state, user, dex);
  account.cash = usdOf(event.rawUsd);
  account.time = state.time;
  require(new Set(positions.map(({ coin }) => coin)).size === positions.length);
  closeAllOn(state, user, dex);
  for (const position of positions) {
    const market = present(state.markets.get(position.coin));
    require(market.dex === dex);
    state.holdings.set(keyOf(user, position.coin), holdingFrom(market, position));
  }
}

function applyAccountTime(state: NaiveState, event: WireEventOf<'accountTime'>): void {
  require(state.dexes.has(event.dex) && event.time <= state.time);
  present(state.accounts.get(keyOf(event.user, event.dex))).time = event.time;
}

function applyTransfer(state: NaiveState, { user, dex, amount }: WireEventOf<'transfer'>): void {
  const account = accountOf(state, user, dex);
  account.cash += usdOf(amount);
  requireStorable(account);
}

function applyLeverage(state: NaiveState, event: WireEventOf<'leverage'>): void {
  const { user, coin, mode, value } = event;
  const market = present(state.markets.get(coin));
  require(!(market.onlyIsolated && mode === 'cross'));
  accountOf(state, user, market.dex);
  const holding = holdingOf(state, user, coin);
  const [{ maxLeverage }] = holding.ownTiers ?? market.tiers;
  require(value <= maxLeverage);
  require(holding.position === undefined || holding.mode === mode);
  holding.mode = mode;
  holding.leverage = value;
}

function applyFill(state: NaiveState, event: WireEventOf<'fill'>, fillBranches: string[]): void {
  const { user, coin, side } = event;
  const market = present(state.markets.get(coin));
  const size = sizeOf(market, event.sz);
  require(size > 0n);
  const account = accountOf(state, user, market.dex);
  const holding = holdingOf(state, user, coin);
  const hadOwnTiers = holding.ownTiers !== undefined;
  const branch = fillNaively(market, account, holding, {
    size: side === 'B' ? size : -size,
    price: priceOf(market.szDecimals, event.px),
    fee: usdOf(event.fee),
  });
  requireStorable(account, holding);
  fillBranches.push(`${holding.mode} ${branch}`);
  if (hadOwnTiers) fillBranches.push(`${branch} with own tiers`);
}

function applyIsolatedMargin(state: NaiveState, event: WireEventOf<'isolatedMargin'>): void {
  const market = present(state.markets.get(event.coin));
  const account = accountOf(state, event.user, market.dex);
  const holding = holdingOf(state, event.user, event.coin);
  require(holding.mode === 'isolated');
  const position = present(holding.position);
  account.cash -= usdOf(event.amount);
  position.rawUsd += usdOf(event.amount);
  requireStorable(account, holding);
}

function payFunding(state: NaiveState, coin: string, user: string, amount: bigint): void {
  const account = accountOf(state, user, present(state.markets.get(coin)).dex);
  const holding = holdingOf(state, user, coin);
  const position = present(holding.position);
  if (holding.mode === 'cross') account.cash -= amount;
  else position.rawUsd -= amount;
  holding.allTime += amount;
  position.sinceOpen += amount;
  position.sinceChange += amount;
  requireStorable(account, holding);
}

function applyFunding(state: NaiveState, { coin, payments }: WireEventOf<'funding'>): void {
  require(state.markets.has(coin));
  for (const [user, amount] of payments) payFunding(state, coin, user, usdOf(amount));
}

function delegationsOf(state: NaiveState, user: string): Map<string, NaiveDelegation> {
  const key = user.toLowerCase();
  const delegations = state.delegations.get(key) ?? new Map<string, NaiveDelegation>();
  state.delegations.set(key, delegations);
  return delegations;
}

interface Delegating {
  user: string;
  validator: string;
  amount: string;
}

/** Returns where a delegation is stored, its current value, and the amount that the event names. */
function openDelegation(state: NaiveState, { user, validator, amount }: Delegating) {
  const delegations = delegationsOf(state, user);
  const key = validator.toLowerCase();
  return { delegations, key, known: delegations.get(key), amount: amountOf(amount, 8) };
}

function applyDelegate(state: NaiveState, event: Delegating): void {
  const { delegations, key, known, amount } = openDelegation(state, event);
  const sum = (known?.amount ?? 0n) + amount;
  require(sum <= STAKE_MAX, 'not storable');
  delegations.set(key, { amount: sum, lockedUntilTimestamp: state.time + DAY_MS });
}

function applyUndelegate(state: NaiveState, event: Delegating): void {
  const { delegations, key, known, amount } = openDelegation(state, event);
  const delegation = present(known);
  require(state.time >= delegation.lockedUntilTimestamp && amount <= delegation.amount);
  delegation.amount -= amount;
  if (delegation.amount === 0n) delegations.delete(key);
}

function applyDelegationReward(state: NaiveState, event: Delegating): void {
  const { known, amount } = openDelegation(state, event);
  const delegation = present(known);
  delegation.amount += amount;
  require(delegation.amount <= STAKE_MAX, 'not storable');
}

function applyDelegation(state: NaiveState, event: WireEventOf<'delegation'>): void {
  const { delegations, key, amount } = openDelegation(state, event);
  const { lockedUntilTimestamp } = event;
  if (amount === 0n) delegations.delete(key);
  else delegations.set(key, { amount, lockedUntilTimestamp });
}

function applyDelegations(state: NaiveState, event: WireEventOf<'delegations'>): void {
  const user = event.user.toLowerCase();
  const listed = new Map(
    event.delegations.map(({ validator, amount, lockedUntilTimestamp }) => [
      validator.toLowerCase(),
      { amount: amountOf(amount, 8), lockedUntilTimestamp },
    ]),
  );
  require(listed.size === event.delegations.length);
  state.delegations.set(user, listed);
  state.delegationTimes.set(user, state.time);
}

function applyDeployAuction(state: NaiveState, event: WireEventOf<'deployAuction'>): void {
  const { startTimeSeconds, durationSeconds } = event;
  const startGas = amountOf(event.startGas, 8);
  const floorGas = amountOf(event.floorGas, 8);
  require(floorGas <= startGas);
  state.auction = { startTimeSeconds, durationSeconds, startGas, floorGas, endGas: undefined };
}

function applyDeployAuctionEnd(state: NaiveState, event: WireEventOf<'deployAuctionEnd'>): void {
  const auction = present(state.auction ?? undefined);
  require(auction.endGas === undefined);
  auction.endGas = amountOf(event.endGas, 8);
}

function applyNoDeployAuction(state: NaiveState): void {
  state.auction = null;
}

/** The effect of each event. A fill also records which branch it took. */
type Appliers = {
  [T in WireType]: (state: NaiveState, event: WireEventOf<T>, fillBranches: string[]) => void;
};

const APPLIERS: Appliers = {
  perpDex: (state, { dex }) => {
    require(!state.dexes.has(dex));
    state.dexes.add(dex);
  },
  market: applyMarket,
  marks: applyMarks,
  dexes: (state, { list }) => {
    state.dexList = list;
  },
  universe: (state, { dex, meta }) => {
    require(state.dexes.has(dex));
    state.universes.set(dex, meta);
  },
  account: applyAccount,
  accountTime: applyAccountTime,
  accountMode: (state, { user, mode }) => {
    state.modes.set(user.toLowerCase(), mode);
  },
  transfer: applyTransfer,
  orderMargin: (state, { user, dex, amount }) => {
    accountOf(state, user, dex).orderMargin = usdOf(amount);
  },
  collateral: (state, { user, dex, amount }) => {
    accountOf(state, user, dex).collateral = usdOf(amount);
  },
  leverage: applyLeverage,
  fill: applyFill,
  isolatedMargin: applyIsolatedMargin,
  funding: applyFunding,
  delegate: applyDelegate,
  undelegate: applyUndelegate,
  delegationReward: applyDelegationReward,
  delegation: applyDelegation,
  delegations: applyDelegations,
  partial: (state) => {
    state.isPartial = true;
  },
  deployAuction: applyDeployAuction,
  deployAuctionEnd: applyDeployAuctionEnd,
  noDeployAuction: applyNoDeployAuction,
};

function applyEvent<T extends WireType>(
  state: NaiveState,
  event: WireEventOf<T>,
  fillBranches: string[],
): void {
  const apply: Appliers[T] = APPLIERS[event.type];
  apply(state, event, fillBranches);
}

export type Folded =
  | { isAccepted: true; state: NaiveState; fillBranches: string[] }
  | { isAccepted: false; refusedEvent: unknown; reason: Reason };

/**
 * Returns the state after the block, or the refused event. If the block itself is refused, the
 * event is undefined.
 */
export function foldBlock(before: NaiveState, block: unknown): Folded {
  if (!isWireEnvelope(block) || block.height !== before.height + 1 || block.time < before.time) {
    return { isAccepted: false, refusedEvent: undefined, reason: 'invalid' };
  }
  const state = structuredClone(before);
  state.height = block.height;
  state.time = block.time;
  const fillBranches: string[] = [];
  for (const event of block.events as unknown[]) {
    try {
      require(isWireEvent(event));
      applyEvent(state, event, fillBranches);
    } catch (error) {
      if (!(error instanceof NaiveRefusal)) throw error;
      return { isAccepted: false, refusedEvent: event, reason: error.reason };
    }
  }
  return { isAccepted: true, state, fillBranches };
}
