/** `clearinghouseState`: a user's perpetuals account on one dex. */

import { USD_DECIMALS } from '../events/fields.ts';
import type { Address } from '../exact/address.ts';
import { divideFloor, type Exact, multiply, powerOfTen, subtract } from '../exact/decimal.ts';
import { findAccount } from '../state/accounts.ts';
import { accountChangedAt } from '../state/changed-at.ts';
import { ACCOUNT_DEX } from '../state/columns.ts';
import {
  type AccountFigures,
  accountFigures,
  type MarginSummary,
  type PositionFigures,
  returnOnEquity,
} from '../state/figures.ts';
import { liquidationPrice } from '../state/liquidation.ts';
import { QUOTIENT_DECIMALS } from '../state/margin-formulas.ts';
import type { Market } from '../state/markets.ts';
import { QuickFigures } from '../state/quick-figures.ts';
import type { StateView } from '../state/state.ts';
import type { Universe } from '../state/universe.ts';
import { findReordering, sortByPlace } from '../state/universes.ts';
import { type AnswerWriter, fixedText, writtenText } from './answer-writer.ts';
import { dexField, requireDex } from './dex-field.ts';
import type { Readings } from './readings.ts';
import { addressField, type RequestType } from './request.ts';
import { amount, anyText, choiceOf, listOf, object, orNull, wholeNumber } from './schema.ts';

const fields = { user: addressField, dex: dexField };

const summarySchema = object({
  accountValue: amount,
  totalNtlPos: amount,
  totalRawUsd: amount,
  totalMarginUsed: amount,
});

const positionSchema = object({
  coin: anyText,
  szi: amount,
  leverage: object({
    type: choiceOf('cross', 'isolated'),
    value: wholeNumber,
    rawUsd: amount,
  }),
  entryPx: amount,
  positionValue: amount,
  unrealizedPnl: amount,
  returnOnEquity: amount,
  liquidationPx: orNull(amount),
  marginUsed: amount,
  maxLeverage: wholeNumber,
  cumFunding: object({ allTime: amount, sinceOpen: amount, sinceChange: amount }),
});

export const accountSchema = object({
  marginSummary: summarySchema,
  crossMarginSummary: summarySchema,
  crossMaintenanceMarginUsed: amount,
  withdrawable: amount,
  assetPositions: listOf(object({ type: choiceOf('oneWay'), position: positionSchema })),
  time: wholeNumber,
});

export const accountExample = {
  marginSummary: {
    accountValue: '850.909594',
    totalNtlPos: '4111.898',
    totalRawUsd: '-3260.988406',
    totalMarginUsed: '198.222622',
  },
  crossMarginSummary: {
    accountValue: '652.686972',
    totalNtlPos: '0.0',
    totalRawUsd: '652.686972',
    totalMarginUsed: '0.0',
  },
  crossMaintenanceMarginUsed: '0.0',
  withdrawable: '468.826972',
  assetPositions: [
    {
      type: 'oneWay',
      position: {
        coin: 'BTC',
        szi: '0.04226',
        leverage: { type: 'isolated', value: 20, rawUsd: '-3913.675378' },
        entryPx: '97437.4',
        positionValue: '4111.898',
        unrealizedPnl: '-5.8098',
        returnOnEquity: '-0.0282186123',
        liquidationPx: '93781.7220222013',
        marginUsed: '198.222622',
        maxLeverage: 40,
        cumFunding: { allTime: '0.0', sinceOpen: '0.0', sinceChange: '0.0' },
      },
    },
  ],
  time: 1758561760000,
};

export const clearinghouseState: RequestType<typeof fields> = {
  type: 'clearinghouseState',
  summary:
    "A user's perpetuals account on one dex: positions, margin figures, what can be withdrawn.",
  weight: 2,
  fields,
  answerSchema: accountSchema,
  example: {
    question: { type: 'clearinghouseState', user: '0xeaa346d93e222853a2229e2fbb584830fa478fd2' },
    answer: accountExample,
  },
  pushedAs: 'clearinghouseState',
  validate(state, { dex }) {
    requireDex(state, dex);
  },
  subjects(state, { user, dex }) {
    return [{ kind: 'account', user, dexIndex: requireDex(state, dex) }];
  },
  changedAt: (state, fields) => accountChangedAt(state, findRow(state, fields)),
  dependencies(state, { user, dex }) {
    const addressRow = state.addresses.find(user);
    const account = findAccount(state, addressRow, requireDex(state, dex));
    if (account !== 0) return { accounts: [account], addresses: [] };
    return addressRow === 0 ? undefined : { accounts: [], addresses: [addressRow] };
  },
  rowAnswer: { find: findRow, changedAt: accountChangedAt, write: writeAccount },
  answer: (state, fields, readings) => writtenText((out) => write(out, state, fields, readings)),
  write,
};

interface Asked {
  readonly user: Address;
  readonly dex: string;
}

function findRow(state: StateView, { user, dex }: Asked): number {
  const dexIndex = requireDex(state, dex);
  return findAccount(state, state.addresses.find(user), dexIndex);
}

function write(out: AnswerWriter, state: StateView, asked: Asked, readings?: Readings): void {
  const { user, dex } = asked;
  const dexIndex = requireDex(state, dex);
  const own = readings?.findAnswer({ kind: 'account', user, dexIndex });
  if (own !== undefined) out.long(own);
  else writeAccount(out, state, findRow(state, asked));
}

/** More than an account without its positions takes, or one position and what ends the account. */
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
  /** The whole dollars of the price (negative if there is none), and its ten decimals. */
  readonly liquidationWhole: Exact;
  readonly liquidationFraction: number;
}

interface AccountLines extends Omit<AccountFigures, 'positions' | 'collateral'> {
  readonly positions: readonly PositionLine[];
  /** How many of `positions` are in use; the others are leftovers of earlier accounts. */
  readonly positionCount: number;
}

const quick = new QuickFigures();

/** Writes the account in a row, as JSON text. */
export function writeAccount(out: AnswerWriter, state: StateView, row: number): void {
  const isQuick = quick.compute(state, row);
  const lines = isQuick ? quick : exactLines(accountFigures(state, row));
  const universe = findReordering(state, state.accounts.get(row, ACCOUNT_DEX));
  writeLines(out, universe === undefined ? lines : orderLines(lines, universe), state.time);
}

/** In the order of the universe, which is seldom another than that of the ledger's markets. */
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

/** A class: objects that are spread into others are many times slower to write, and to read. */
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

/** Starts with the value of `coin`; its key is already written. */
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

/** The price, or null, and the key that follows it. */
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
