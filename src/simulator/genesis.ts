/**
 * The first blocks of a ledger: dexes and markets, then the initial users, then the market makers,
 * who have the other side of every position.
 *
 * Each phase adds only what the state does not have yet. So a resumed ledger gets no events, and a
 * ledger that was interrupted in its first blocks is completed.
 */

import type { WireEvent } from '../events/event.ts';
import { USD_DECIMALS } from '../events/fields.ts';
import { parseUnits } from '../exact/decimal.ts';
import type { StateView } from '../state/state.ts';
import { marketOfTerms, SIZE, TERMS } from '../state/tables/columns.ts';
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
import { type BlockDraft, formatUsd, marketsOfDex, type Scene, wholeCents } from './scene.ts';
import { drawDelegations } from './staking.ts';

const ORDER_MARGIN_CHANCE = 0.2;
const COLLATERAL_CHANCE = 0.1;
const FURTHER_DEX_CHANCE = 0.15;
const OPENING_PRICE_GAP = 0.02;
const MAKER_EXPOSURE = 3;
const MAKER_LEVERAGE = 10;

/** The scene of the first blocks. It has no draft, because phases yield their events. */
interface GenesisScene extends Omit<Scene, 'draft'> {
  readonly positionsPerAccount: number | undefined;
}

type Phase = (scene: GenesisScene) => Generator<WireEvent>;

export class Genesis {
  readonly #positionsPerAccount: number | undefined;
  /**
   * A block contains events of one phase only, because each phase reads the results of the earlier
   * phases from the state.
   */
  readonly #phases: Phase[] = [listDexes, listMarkets, addUsers, addMakers];
  /** The remaining events of the current phase. */
  #events: Generator<WireEvent> | undefined;

  constructor(positionsPerAccount: number | undefined) {
    this.#positionsPerAccount = positionsPerAccount;
  }

  /** True if every phase is complete. */
  get isOver(): boolean {
    return this.#phases.length === 0 && this.#events === undefined;
  }

  /**
   * Fills the block from the next phase that has events; leaves the block empty if no phase has
   * events.
   */
  fill(scene: Scene): void {
    const genesisScene = { ...scene, positionsPerAccount: this.#positionsPerAccount };
    while (scene.draft.isEmpty) {
      this.#events ??= this.#phases.shift()?.(genesisScene);
      if (this.#events === undefined) return;
      if (!appendWhileRoom(scene.draft, this.#events)) this.#events = undefined;
    }
  }
}

/** Appends events until the block is full. Returns true if there may be more events. */
function appendWhileRoom(draft: BlockDraft, events: Generator<WireEvent>): boolean {
  while (!draft.isFull) {
    const { done, value } = events.next();
    if (done) return false;
    draft.append(value);
  }
  return true;
}

function* listDexes({ state, roster }: GenesisScene): Generator<WireEvent> {
  for (const { dex, fullName } of LISTED_DEXES) {
    if (state.markets.findDex(dex) !== undefined) continue;
    yield { type: 'perpDex', dex, fullName, deployer: roster.deployer(dex).text };
  }
}

function* listMarkets({ state, random }: GenesisScene): Generator<WireEvent> {
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

function isKnown({ state }: GenesisScene, { address }: Participant): boolean {
  return state.addresses.find(address) !== 0;
}

function* addUsers(scene: GenesisScene): Generator<WireEvent> {
  const { random, roster, positionsPerAccount } = scene;
  for (let index = roster.makers.length; index < roster.initialUserCount; index++) {
    const participant = roster.user(index);
    if (isKnown(scene, participant)) continue;
    const role = roster.roleOf(index);
    const initialUser = { user: participant.text, role, equity: drawEquity(random, role) };
    yield drawAccount(scene, initialUser, 0);
    yield* drawReserves(scene, initialUser);
    yield* drawDelegations(scene, initialUser.user);
    if (positionsPerAccount === undefined) yield* drawFurtherAccounts(scene, initialUser);
  }
}

interface InitialUser {
  readonly user: string;
  readonly role: Role;
  readonly equity: number;
}

function drawAccount(scene: GenesisScene, initialUser: InitialUser, dexIndex: number): WireEvent {
  const { state, random, positionsPerAccount } = scene;
  const { user, role, equity } = initialUser;
  const markets = marketsOfDex(state, dexIndex);
  const countWanted = positionsPerAccount ?? drawPositionCount(random, role);
  const count = Math.min(countWanted, markets.length);
  const holdings = drawMarkets(random, markets, count).map((marketIndex) =>
    drawHolding(random, state, { marketIndex, equity: equity / count }),
  );
  const dex = state.markets.dexes[dexIndex].name;
  return describeAccount(random, { user, dex, equity, holdings });
}

/** Some users have resting orders, or collateral outside the perp account (unified accounts). */
function* drawReserves(
  { random }: GenesisScene,
  { user, equity }: InitialUser,
): Generator<WireEvent> {
  if (random.chance(ORDER_MARGIN_CHANCE)) {
    const amount = formatUsd(wholeCents(equity * random.between(0.01, 0.2)));
    yield { type: 'orderMargin', user, dex: '', amount };
  }
  if (random.chance(COLLATERAL_CHANCE)) {
    const amount = formatUsd(wholeCents(equity * random.between(0.1, 1.5)));
    yield { type: 'collateral', user, dex: '', amount };
  }
}

function* drawFurtherAccounts(scene: GenesisScene, initialUser: InitialUser): Generator<WireEvent> {
  const { state, random } = scene;
  for (let dexIndex = 1; dexIndex < state.markets.dexes.length; dexIndex++) {
    if (!random.chance(FURTHER_DEX_CHANCE)) continue;
    const equity = wholeCents(initialUser.equity * random.between(0.1, 1));
    yield drawAccount(scene, { ...initialUser, equity }, dexIndex);
  }
}

/** Longs minus shorts of every market, in its smallest unit. */
function netSizes({ markets, positions }: StateView): number[] {
  const net = new Array<number>(markets.markets.length).fill(0);
  for (let row = 1; row < positions.rowCount; row++) {
    net[marketOfTerms(positions.get(row, TERMS))] += positions.get(row, SIZE);
  }
  return net;
}

/** Makers share the other side of the users' positions, so that longs equal shorts everywhere. */
function* addMakers(scene: GenesisScene): Generator<WireEvent> {
  const { state, random, roster, positionsPerAccount } = scene;
  const missing = roster.makers.filter((maker) => !isKnown(scene, maker));
  const net = positionsPerAccount === undefined ? netSizes(state) : [];
  for (const [index, { text: user }] of missing.entries()) {
    if (positionsPerAccount !== undefined) {
      yield drawAccount(scene, { user, role: 'maker', equity: drawEquity(random, 'maker') }, 0);
      continue;
    }
    const shares = net.map((size) => shareOf(-size, index, missing.length));
    for (const [dexIndex] of state.markets.dexes.entries()) {
      yield drawMaker(scene, { user, dexIndex, sizes: shares });
    }
  }
}

/**
 * Splits an amount into `count` whole shares, and returns the share with this index. The first
 * shares get the remainder.
 */
function shareOf(amount: number, index: number, count: number): number {
  const magnitude = Math.abs(amount);
  const share = Math.floor(magnitude / count) + (index < magnitude % count ? 1 : 0);
  return amount < 0 ? -share : share;
}

interface MakerSizes {
  readonly user: string;
  readonly dexIndex: number;
  /** The sizes by market. */
  readonly sizes: readonly number[];
}

function drawMaker(scene: GenesisScene, { user, dexIndex, sizes }: MakerSizes): WireEvent {
  const { state, random } = scene;
  const holdings = marketsOfDex(state, dexIndex)
    .filter((marketIndex) => sizes[marketIndex] !== 0)
    .map((marketIndex) => makerHolding(scene, marketIndex, sizes[marketIndex]));
  const exposure = holdings.reduce(
    (sum, { size, markPrice }) => sum + Math.abs(size) * markPrice,
    0,
  );
  const equity = Math.max(drawEquity(random, 'maker'), Math.ceil(exposure / MAKER_EXPOSURE));
  const dex = state.markets.dexes[dexIndex].name;
  return describeAccount(random, { user, dex, equity, holdings });
}

/** Makers use cross margin wherever the market allows it. */
function makerHolding({ state, random }: GenesisScene, marketIndex: number, size: number): Holding {
  const market = state.markets.markets[marketIndex];
  const markPrice = state.markets.markPrice(marketIndex);
  const leverage = Math.min(MAKER_LEVERAGE, market.tiers[0].maxLeverage);
  const entryPrice = drawEntryPrice(random, { market, markPrice, leverage });
  const mode = market.onlyIsolated ? 'isolated' : 'cross';
  return { market, size, markPrice, entryPrice, leverage, mode };
}
