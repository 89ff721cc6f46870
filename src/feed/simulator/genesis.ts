/**
 * The first blocks of a ledger: dexes and markets, then the founding users, then the market makers,
 * who hold the other side of every position.
 *
 * Each phase adds only what the state does not have yet, so it is idempotent: a ledger that is resumed
 * gets nothing, and one that was interrupted in its first blocks is completed.
 */

import { USD_DECIMALS } from '../../events/fields.ts';
import { parseUnits } from '../../exact/decimal.ts';
import { marketOfTerms, SIZE, TERMS } from '../../state/columns.ts';
import type { StateView } from '../../state/state.ts';
import { describeMarket, LISTED_DEXES, LISTINGS, type Listing } from './listings.ts';
import {
  describeAccount,
  drawEntryPrice,
  drawEquity,
  drawHolding,
  drawMarkets,
  drawPositionCount,
  type Holding,
} from './portfolio.ts';
import { roundPrice } from './prices.ts';
import type { Random } from './random.ts';
import type { Participant, Role } from './roster.ts';
import {
  type BlockDraft,
  formatUsd,
  marketsOfDex,
  type Scene,
  type WireEvent,
  wholeCents,
} from './scene.ts';
import { foundingDelegations } from './staking.ts';

const ORDER_MARGIN_CHANCE = 0.2;
const COLLATERAL_CHANCE = 0.1;
const FURTHER_DEX_CHANCE = 0.15;
const OPENING_PRICE_GAP = 0.02;
const MAKER_EXPOSURE = 3;
const MAKER_LEVERAGE = 10;

/** The scene of the first blocks, without a draft: phases yield their events. */
interface Founding extends Omit<Scene, 'draft'> {
  readonly positionsPerAccount: number | undefined;
}

type Phase = (founding: Founding) => Generator<WireEvent>;

export class Genesis {
  readonly #positionsPerAccount: number | undefined;
  /** A block holds events of one phase, so each phase sees in the state all that came before. */
  readonly #phases: Phase[] = [foundDexes, foundMarkets, foundUsers, foundMakers];
  /** The remaining events of the current phase. */
  #events: Generator<WireEvent> | undefined;

  constructor(positionsPerAccount: number | undefined) {
    this.#positionsPerAccount = positionsPerAccount;
  }

  /** Whether every phase is complete. */
  get isOver(): boolean {
    return this.#phases.length === 0 && this.#events === undefined;
  }

  /** Fills the block from the next phase that has events; leaves it empty where none has. */
  fill(scene: Scene): void {
    const founding = { ...scene, positionsPerAccount: this.#positionsPerAccount };
    while (scene.draft.isEmpty) {
      this.#events ??= this.#phases.shift()?.(founding);
      if (this.#events === undefined) return;
      if (!appendWhileRoom(scene.draft, this.#events)) this.#events = undefined;
    }
  }
}

/** Returns whether there may be more events than the block had room for. */
function appendWhileRoom(draft: BlockDraft, events: Generator<WireEvent>): boolean {
  while (!draft.isFull) {
    const { done, value } = events.next();
    if (done) return false;
    draft.append(value);
  }
  return true;
}

function* foundDexes({ state, roster }: Founding): Generator<WireEvent> {
  for (const { dex, fullName } of LISTED_DEXES) {
    if (state.markets.findDex(dex) !== undefined) continue;
    yield { type: 'perpDex', dex, fullName, deployer: roster.deployer(dex).text };
  }
}

function* foundMarkets({ state, random }: Founding): Generator<WireEvent> {
  const known = new Set(state.markets.markets.map(({ coin }) => coin));
  for (const listing of LISTINGS) {
    if (!known.has(listing.coin)) yield describeListing(random, listing);
  }
}

function describeListing(random: Random, listing: Listing): WireEvent {
  const { price, sizeDecimals, onlyIsolated = false } = listing;
  const priceDecimals = USD_DECIMALS - sizeDecimals;
  const gap = random.between(-OPENING_PRICE_GAP, OPENING_PRICE_GAP);
  const markPrice = roundPrice(parseUnits(price, priceDecimals) * (1 + gap), priceDecimals);
  return describeMarket({ ...listing, onlyIsolated, markPrice });
}

function isKnown({ state }: Founding, { address }: Participant): boolean {
  return state.addresses.find(address) !== 0;
}

function* foundUsers(founding: Founding): Generator<WireEvent> {
  const { random, roster, positionsPerAccount } = founding;
  for (let index = roster.makers.length; index < roster.founderCount; index++) {
    const participant = roster.user(index);
    if (isKnown(founding, participant)) continue;
    const role = roster.roleOf(index);
    const founder = { user: participant.text, role, equity: drawEquity(random, role) };
    yield foundAccount(founding, founder, 0);
    yield* foundReserves(founding, founder);
    yield* foundingDelegations(founding, founder.user);
    if (positionsPerAccount === undefined) yield* foundFurtherAccounts(founding, founder);
  }
}

interface Founder {
  readonly user: string;
  readonly role: Role;
  readonly equity: number;
}

function foundAccount(founding: Founding, founder: Founder, dexIndex: number): WireEvent {
  const { state, random, positionsPerAccount } = founding;
  const { user, role, equity } = founder;
  const markets = marketsOfDex(state, dexIndex);
  const countWanted = positionsPerAccount ?? drawPositionCount(random, role);
  const count = Math.min(countWanted, markets.length);
  const holdings = drawMarkets(random, markets, count).map((marketIndex) =>
    drawHolding(random, state, { marketIndex, equity: equity / count }),
  );
  const dex = state.markets.dexes[dexIndex].name;
  return describeAccount(random, { user, dex, equity, holdings });
}

/** Resting orders of some, and what some hold outside the perp account (unified accounts). */
function* foundReserves({ random }: Founding, { user, equity }: Founder): Generator<WireEvent> {
  if (random.chance(ORDER_MARGIN_CHANCE)) {
    const amount = formatUsd(wholeCents(equity * random.between(0.01, 0.2)));
    yield { type: 'orderMargin', user, dex: '', amount };
  }
  if (random.chance(COLLATERAL_CHANCE)) {
    const amount = formatUsd(wholeCents(equity * random.between(0.1, 1.5)));
    yield { type: 'collateral', user, dex: '', amount };
  }
}

function* foundFurtherAccounts(founding: Founding, founder: Founder): Generator<WireEvent> {
  const { state, random } = founding;
  for (let dexIndex = 1; dexIndex < state.markets.dexes.length; dexIndex++) {
    if (!random.chance(FURTHER_DEX_CHANCE)) continue;
    const equity = wholeCents(founder.equity * random.between(0.1, 1));
    yield foundAccount(founding, { ...founder, equity }, dexIndex);
  }
}

/** Longs less shorts of every market, in its smallest unit. */
function netSizes({ markets, positions }: StateView): number[] {
  const net = new Array<number>(markets.markets.length).fill(0);
  for (let row = 1; row < positions.rowCount; row++) {
    net[marketOfTerms(positions.get(row, TERMS))] += positions.get(row, SIZE);
  }
  return net;
}

/** Makers share the other side of what the users hold, so that longs equal shorts everywhere. */
function* foundMakers(founding: Founding): Generator<WireEvent> {
  const { state, random, roster, positionsPerAccount } = founding;
  const missing = roster.makers.filter((maker) => !isKnown(founding, maker));
  const net = positionsPerAccount === undefined ? netSizes(state) : [];
  for (const [place, { text: user }] of missing.entries()) {
    if (positionsPerAccount !== undefined) {
      yield foundAccount(founding, { user, role: 'maker', equity: drawEquity(random, 'maker') }, 0);
      continue;
    }
    const shares = net.map((size) => shareOf(-size, place, missing.length));
    for (const [dexIndex] of state.markets.dexes.entries()) {
      yield foundMaker(founding, { user, dexIndex, sizes: shares });
    }
  }
}

/** One of `count` whole shares of an amount; the remainder goes to the first ones. */
function shareOf(amount: number, place: number, count: number): number {
  const magnitude = Math.abs(amount);
  const share = Math.floor(magnitude / count) + (place < magnitude % count ? 1 : 0);
  return amount < 0 ? -share : share;
}

interface FoundedMaker {
  readonly user: string;
  readonly dexIndex: number;
  /** By market. */
  readonly sizes: readonly number[];
}

function foundMaker(founding: Founding, { user, dexIndex, sizes }: FoundedMaker): WireEvent {
  const { state, random } = founding;
  const holdings = marketsOfDex(state, dexIndex)
    .filter((marketIndex) => sizes[marketIndex] !== 0)
    .map((marketIndex) => makerHolding(founding, marketIndex, sizes[marketIndex]));
  const exposure = holdings.reduce(
    (sum, { size, markPrice }) => sum + Math.abs(size) * markPrice,
    0,
  );
  const equity = Math.max(drawEquity(random, 'maker'), Math.ceil(exposure / MAKER_EXPOSURE));
  const dex = state.markets.dexes[dexIndex].name;
  return describeAccount(random, { user, dex, equity, holdings });
}

/** Makers are cross wherever they may be. */
function makerHolding({ state, random }: Founding, marketIndex: number, size: number): Holding {
  const market = state.markets.markets[marketIndex];
  const markPrice = state.markets.markPrice(marketIndex);
  const leverage = Math.min(MAKER_LEVERAGE, market.tiers[0].maxLeverage);
  const entryPrice = drawEntryPrice(random, { market, markPrice, leverage });
  const mode = market.onlyIsolated ? 'isolated' : 'cross';
  return { market, size, markPrice, entryPrice, leverage, mode };
}
