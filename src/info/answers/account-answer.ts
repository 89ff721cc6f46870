/** Writes a perpetuals account, as `clearinghouseState` answers. */

import { USD_DECIMALS } from '../../events/fields.ts';
import { divideFloor, type Exact, multiply, powerOfTen, subtract } from '../../exact/decimal.ts';
import {
  type AccountFigures,
  accountFigures,
  type MarginSummary,
  type PositionFigures,
  returnOnEquity,
} from '../../state/figures/figures.ts';
import { liquidationPrice } from '../../state/figures/liquidation.ts';
import { QuickFigures } from '../../state/figures/quick-figures.ts';
import { findReordering, sortByPlace } from '../../state/market-order.ts';
import { QUOTIENT_DECIMALS } from '../../state/markets/margin-formulas.ts';
import type { Market } from '../../state/markets/markets.ts';
import type { Universe } from '../../state/markets/universe.ts';
import type { StateView } from '../../state/state.ts';
import { ACCOUNT_DEX } from '../../state/tables/columns.ts';
import { type AnswerWriter, fixedText } from '../writing/answer-writer.ts';

/**
 * A number of bytes that is enough for an account without positions, and for a position with the
 * end of the account.
 */
const ACCOUNT_BYTES_MAX = 2048;

// Coins and dexes need no JSON escapes: events allow only letters, digits and colons in them.

const SUMMARY_TEXT = fixedText('{"marginSummary":{"accountValue":"');
const CROSS_SUMMARY_TEXT = fixedText('"},"crossMarginSummary":{"accountValue":"');
const TOTAL_NOTIONAL_TEXT = fixedText('","totalNtlPos":"');
const TOTAL_RAW_USD_TEXT = fixedText('","totalRawUsd":"');
const TOTAL_MARGIN_USED_TEXT = fixedText('","totalMarginUsed":"');
const CROSS_MAINTENANCE_TEXT = fixedText('"},"crossMaintenanceMarginUsed":"');
const WITHDRAWABLE_TEXT = fixedText('","withdrawable":"');
const POSITIONS_TEXT = fixedText('","assetPositions":[');
const TIME_TEXT = fixedText('],"time":');
const END_TEXT = fixedText('}');
const COIN_TEXT = fixedText('{"type":"oneWay","position":{"coin":"');
const NEXT_COIN_TEXT = fixedText(',{"type":"oneWay","position":{"coin":"');
const SIZE_TEXT = fixedText('","szi":"');
const CROSS_LEVERAGE_TEXT = fixedText('","leverage":{"type":"cross","value":');
const ISOLATED_LEVERAGE_TEXT = fixedText('","leverage":{"type":"isolated","value":');
const POSITION_RAW_USD_TEXT = fixedText(',"rawUsd":"');
const ENTRY_PRICE_TEXT = fixedText('"},"entryPx":"');
const POSITION_VALUE_TEXT = fixedText('","positionValue":"');
const UNREALIZED_TEXT = fixedText('","unrealizedPnl":"');
const RETURN_ON_EQUITY_TEXT = fixedText('","returnOnEquity":"');
const LIQUIDATION_PRICE_TEXT = fixedText('","liquidationPx":"');
const NO_LIQUIDATION_PRICE_TEXT = fixedText('","liquidationPx":null,"marginUsed":"');
const MARGIN_USED_TEXT = fixedText('","marginUsed":"');
const MAX_LEVERAGE_TEXT = fixedText('","maxLeverage":');
const FUNDING_ALL_TIME_TEXT = fixedText(',"cumFunding":{"allTime":"');
const FUNDING_SINCE_OPEN_TEXT = fixedText('","sinceOpen":"');
const FUNDING_SINCE_CHANGE_TEXT = fixedText('","sinceChange":"');
const POSITION_END_TEXT = fixedText('"}}}');

/** The figures of a position as they are written. */
interface PositionLine
  extends Omit<PositionFigures, 'tiers' | 'entryNotional' | 'maintenanceMargin'> {
  readonly entryPrice: Exact;
  readonly returnOnEquity: Exact;
  /**
   * The whole dollars of the liquidation price (negative if there is no price), and its ten
   * decimals.
   */
  readonly liquidationWhole: Exact;
  readonly liquidationFraction: number;
}

interface AccountLines extends Omit<AccountFigures, 'positions' | 'collateral'> {
  readonly positions: readonly PositionLine[];
  /** The number of `positions` that are in use. The other positions belong to earlier accounts. */
  readonly positionCount: number;
}

const quick = new QuickFigures();

/** Writes the account with this row number, as JSON text. */
export function writeAccount(out: AnswerWriter, state: StateView, row: number): void {
  const isQuick = quick.compute(state, row);
  const lines = isQuick ? quick : exactLines(accountFigures(state, row));
  const universe = findReordering(state, state.accounts.get(row, ACCOUNT_DEX));
  writeLines(out, universe === undefined ? lines : orderLines(lines, universe), state.time);
}

/**
 * Sorts the positions in the order of the universe, which is nearly always the order of the
 * ledger's markets.
 */
function orderLines(account: AccountLines, universe: Universe): AccountLines {
  const used = account.positions.slice(0, account.positionCount);
  const positions = sortByPlace(universe, used, ({ market }) => market.coin);
  return { ...account, positions };
}

function exactLines(account: AccountFigures): AccountLines {
  const positions = account.positions.map((position) => new ExactLine(account, position));
  const { summary, crossSummary, crossMaintenanceMargin, withdrawable } = account;
  const totals = { summary, crossSummary, crossMaintenanceMargin, withdrawable };
  return { ...totals, positions, positionCount: positions.length };
}

/**
 * This is a class, because objects that are made by spreading other objects are many times slower
 * to write and to read.
 */
class ExactLine implements PositionLine {
  readonly market: Market;
  readonly size: number;
  readonly isIsolated: boolean;
  readonly leverage: number;
  readonly rawUsd: Exact;
  readonly entryPrice: Exact;
  readonly value: Exact;
  readonly unrealizedPnl: Exact;
  readonly returnOnEquity: Exact;
  readonly liquidationWhole: Exact;
  readonly liquidationFraction: number;
  readonly marginUsed: Exact;
  readonly maxLeverage: number;
  readonly fundingAllTime: number;
  readonly fundingSinceOpen: number;
  readonly fundingSinceChange: number;

  constructor(account: AccountFigures, position: PositionFigures) {
    const price = liquidationPrice(account, position);
    const whole = price === undefined ? -1 : divideFloor(price, PRICE_SCALE);
    this.market = position.market;
    this.size = position.size;
    this.isIsolated = position.isIsolated;
    this.leverage = position.leverage;
    this.rawUsd = position.rawUsd;
    this.entryPrice = divideFloor(position.entryNotional, Math.abs(position.size));
    this.value = position.value;
    this.unrealizedPnl = position.unrealizedPnl;
    this.returnOnEquity = returnOnEquity(position);
    this.liquidationWhole = whole;
    this.liquidationFraction =
      price === undefined ? 0 : Number(subtract(price, multiply(whole, PRICE_SCALE)));
    this.marginUsed = position.marginUsed;
    this.maxLeverage = position.maxLeverage;
    this.fundingAllTime = position.fundingAllTime;
    this.fundingSinceOpen = position.fundingSinceOpen;
    this.fundingSinceChange = position.fundingSinceChange;
  }
}

const PRICE_SCALE = powerOfTen(QUOTIENT_DECIMALS);

function writeLines(out: AnswerWriter, account: AccountLines, time: number): void {
  out.reserve(ACCOUNT_BYTES_MAX);
  out.fixed(SUMMARY_TEXT);
  writeSummary(out, account.summary);
  out.fixed(CROSS_SUMMARY_TEXT);
  writeSummary(out, account.crossSummary);
  out.fixed(CROSS_MAINTENANCE_TEXT);
  out.units(account.crossMaintenanceMargin, USD_DECIMALS);
  out.fixed(WITHDRAWABLE_TEXT);
  out.units(account.withdrawable, USD_DECIMALS);
  out.fixed(POSITIONS_TEXT);
  for (let index = 0; index < account.positionCount; index++) {
    out.reserve(ACCOUNT_BYTES_MAX);
    out.fixed(index === 0 ? COIN_TEXT : NEXT_COIN_TEXT);
    writePosition(out, account.positions[index]);
  }
  out.fixed(TIME_TEXT);
  out.whole(time);
  out.fixed(END_TEXT);
}

function writeSummary(out: AnswerWriter, summary: MarginSummary): void {
  out.units(summary.accountValue, USD_DECIMALS);
  out.fixed(TOTAL_NOTIONAL_TEXT);
  out.units(summary.totalNtlPos, USD_DECIMALS);
  out.fixed(TOTAL_RAW_USD_TEXT);
  out.units(summary.totalRawUsd, USD_DECIMALS);
  out.fixed(TOTAL_MARGIN_USED_TEXT);
  out.units(summary.totalMarginUsed, USD_DECIMALS);
}

/** Starts with the value of `coin`, because the key is already written. */
function writePosition(out: AnswerWriter, position: PositionLine): void {
  const { market } = position;
  out.text(market.coin);
  out.fixed(SIZE_TEXT);
  out.units(position.size, market.sizeDecimals);
  out.fixed(position.isIsolated ? ISOLATED_LEVERAGE_TEXT : CROSS_LEVERAGE_TEXT);
  out.whole(position.leverage);
  out.fixed(POSITION_RAW_USD_TEXT);
  out.units(position.rawUsd, USD_DECIMALS);
  out.fixed(ENTRY_PRICE_TEXT);
  out.units(position.entryPrice, market.priceDecimals);
  out.fixed(POSITION_VALUE_TEXT);
  out.units(position.value, USD_DECIMALS);
  out.fixed(UNREALIZED_TEXT);
  out.units(position.unrealizedPnl, USD_DECIMALS);
  out.fixed(RETURN_ON_EQUITY_TEXT);
  out.units(position.returnOnEquity, QUOTIENT_DECIMALS);
  writeLiquidation(out, position);
  out.units(position.marginUsed, USD_DECIMALS);
  out.fixed(MAX_LEVERAGE_TEXT);
  out.whole(position.maxLeverage);
  out.fixed(FUNDING_ALL_TIME_TEXT);
  out.units(position.fundingAllTime, USD_DECIMALS);
  out.fixed(FUNDING_SINCE_OPEN_TEXT);
  out.units(position.fundingSinceOpen, USD_DECIMALS);
  out.fixed(FUNDING_SINCE_CHANGE_TEXT);
  out.units(position.fundingSinceChange, USD_DECIMALS);
  out.fixed(POSITION_END_TEXT);
}

/** Writes the price, or null, and the next key. */
function writeLiquidation(out: AnswerWriter, position: PositionLine): void {
  const { liquidationWhole, liquidationFraction } = position;
  if (liquidationWhole < 0) {
    out.fixed(NO_LIQUIDATION_PRICE_TEXT);
    return;
  }
  out.fixed(LIQUIDATION_PRICE_TEXT);
  out.parts(liquidationWhole, liquidationFraction, QUOTIENT_DECIMALS);
  out.fixed(MARGIN_USED_TEXT);
}
