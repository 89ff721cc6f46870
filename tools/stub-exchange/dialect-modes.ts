/**
 * The modes of accounts, and the spot answers that show their backing. One balance of a token backs
 * all dexes with this token. The collateral of one of these dexes is the amount that is available
 * after the maintenance margins of all these dexes, plus the difference between this dex's
 * maintenance margin and its value.
 */

import { parseAddress } from '../../src/exact/address.ts';
import { add, type Exact, formatUnits, maximum, subtract } from '../../src/exact/decimal.ts';
import { findAccount } from '../../src/state/accounts.ts';
import { type AccountFigures, accountFigures } from '../../src/state/figures/figures.ts';
import type { StateView } from '../../src/state/state.ts';
import type { DialectMarkets } from './dialect-markets.ts';
import { hasIsolatedLeg } from './isolated-leg.ts';
import { printDouble } from './printed-doubles.ts';

type Json = ReturnType<typeof JSON.parse>;

/** The accounts of a user in dexes with one collateral token. */
interface Backing {
  readonly token: number;
  /** The part of the balance that is reserved for orders on the spot market. */
  readonly spotOrders: Exact;
  readonly accounts: readonly AccountFigures[];
}

const COINS: Readonly<Record<number, string>> = {
  0: 'USDC',
  235: 'USDE',
  268: 'USDT0',
  360: 'USDH',
};
const USD_DECIMALS = 6;
const SPOT_ORDERS = 12_345_678;
/** Users with orders on the spot market: one user of four. */
const SPOT_TRADERS = /[1-4]$/;
/**
 * A spot balance has eight decimals and an account's amounts have six. No other answer shows these
 * last two digits.
 */
const BELOW_USD_UNIT = '37';

/** The balance of accounts that are not unified: it backs nothing. */
const OWN_BALANCE = {
  coin: 'USDC',
  token: 0,
  total: '1234.56789012',
  hold: '0.0',
  entryNtl: '0.0',
};
/** Rows of unified accounts in tokens that are no dex's collateral, and in rows without a token. */
const OTHER_BALANCES = [
  { coin: 'HYPE', token: 150, total: '0.17021168', hold: '0.0', entryNtl: '9.47722185' },
  { coin: 'UBTC', token: 197, total: '0.5997840005', hold: '0.0', entryNtl: '47797.2' },
  { coin: '+107580', total: '0.0', hold: '0.0', entryNtl: '0.0' },
];

/**
 * The balances of an account that borrows: its dollars are negative, and they are backed by a token
 * that the account lends.
 */
const PORTFOLIO = {
  portfolioMarginEnabled: true,
  balances: [
    {
      ...{ coin: 'USDC', token: 0, total: '-894.08996004', hold: '-140.43677994' },
      ...{ entryNtl: '0.0', ltv: '0.0', supplied: '0.0' },
    },
    { coin: 'HYPE', token: 150, total: '100.5', hold: '0.0', entryNtl: '4020.5', ltv: '0.5' },
  ],
  portfolioMarginRatio: '0.025841686',
  tokenToPortfolioBorrowRatio: [[0, '0.0']],
  tokenToPortfolioSupplyRatio: [],
  tokenToAvailableAfterMaintenance: [
    [0, '870.98516812'],
    [150, '0.0'],
  ],
};

/** Modes whose rules the ledger does not have. Each applies to one user of sixteen. */
const OTHER_MODES: readonly [RegExp, string][] = [
  [/3$/, 'portfolioMargin'],
  [/9$/, 'dexAbstraction'],
];

/** True if the accounts of the user follow rules that the ledger does not have. */
export function hasOtherRules(user: string): boolean {
  return OTHER_MODES.some(([pattern]) => pattern.test(user));
}

/** True if all accounts of the user can be recorded. */
export function isFollowed(user: string): boolean {
  return !hasOtherRules(user) && !hasIsolatedLeg(user);
}

export function describeMode(state: StateView, user: string): string {
  const other = OTHER_MODES.find(([pattern]) => pattern.test(user));
  if (other !== undefined) return other[1];
  if (isUnified(state, user)) return 'unifiedAccount';
  return user.endsWith('0') ? 'disabled' : 'default';
}

function listAccounts(state: StateView, user: string): { dex: string; figures: AccountFigures }[] {
  const address = parseAddress(user);
  const row = address === undefined ? 0 : state.addresses.find(address);
  return state.markets.dexes.flatMap(({ name: dex }, dexIndex) => {
    const account = findAccount(state, row, dexIndex);
    return account === 0 ? [] : [{ dex, figures: accountFigures(state, account) }];
  });
}

function isUnified(state: StateView, user: string): boolean {
  return listAccounts(state, user).some(({ figures }) => figures.collateral > 0);
}

function listBackings(state: StateView, user: string, markets: DialectMarkets): Backing[] {
  const byToken = new Map<number, AccountFigures[]>([[0, []]]);
  for (const { dex, figures } of listAccounts(state, user)) {
    const token = markets.tokenOf(dex);
    byToken.set(token, [...(byToken.get(token) ?? []), figures]);
  }
  const spotOrders = SPOT_TRADERS.test(user) ? SPOT_ORDERS : 0;
  const backings = [...byToken].map(([token, accounts]) => ({
    token,
    accounts,
    spotOrders: token === 0 ? spotOrders : 0,
  }));
  return backings.sort((one, other) => one.token - other.token);
}

export function describeSpot(state: StateView, user: string, markets: DialectMarkets): Json {
  const mode = describeMode(state, user);
  if (mode === 'portfolioMargin') return PORTFOLIO;
  if (mode !== 'unifiedAccount') return { balances: [OWN_BALANCE] };
  const backings = listBackings(state, user, markets);
  const balances = [...backings.map(describeBalance), ...OTHER_BALANCES];
  const available = backings.map((backing) => [backing.token, formatSpot(availableOf(backing))]);
  return {
    balances: balances.sort(
      (one: Json, other: Json) => (one.token ?? Infinity) - (other.token ?? Infinity),
    ),
    tokenToAvailableAfterMaintenance: available,
  };
}

function describeBalance(backing: Backing): Json {
  const { token, accounts, spotOrders } = backing;
  const hold = sumOf(accounts, ({ summary }) => maximum(0, summary.accountValue));
  const held = formatUnits(add(hold, spotOrders), USD_DECIMALS);
  // A dex with a debt takes from the balance of the token.
  const owed = subtract(
    hold,
    sumOf(accounts, ({ summary }) => summary.accountValue),
  );
  const used = sumOf(accounts, ({ summary, crossSummary, crossMaintenanceMargin }) =>
    add(subtract(summary.accountValue, crossSummary.accountValue), crossMaintenanceMargin),
  );
  return {
    coin: COINS[token],
    token,
    total: formatSpot(add(add(availableOf(backing), used), owed)),
    hold: printDouble(held),
    entryNtl: '0.0',
  };
}

/** Returns the available amount. It is the same for all accounts of one token. */
function availableOf({ accounts }: Backing): Exact {
  if (accounts.length === 0) return 0;
  const [{ collateral, crossSummary, crossMaintenanceMargin }] = accounts;
  return subtract(add(collateral, crossSummary.accountValue), crossMaintenanceMargin);
}

function sumOf(
  accounts: readonly AccountFigures[],
  amountOf: (account: AccountFigures) => Exact,
): Exact {
  return accounts.map(amountOf).reduce(add, 0);
}

function formatSpot(amount: Exact): string {
  const text = formatUnits(amount, USD_DECIMALS);
  const isAbove = !text.startsWith('-') && text !== '0.0';
  return isAbove
    ? `${text.replace(/\.\d+$/, (part) => part.padEnd(7, '0'))}${BELOW_USD_UNIT}`
    : text;
}
