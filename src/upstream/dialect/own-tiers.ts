/**
 * Finds the margin tiers of positions that do not use their market's tiers. For example, the
 * exchange's vaults have 50x on every coin, and a position that was opened before its market's
 * tiers changed may still have the old tiers. An answer has only the leverage of one tier. So the
 * right table is the table that reproduces the position's liquidation price and maintenance margin.
 */

import { LEVERAGE_RANGE } from '../../events/event.ts';
import { USD_DECIMALS } from '../../events/fields.ts';
import { DecimalError, type Exact, subtract } from '../../exact/decimal.ts';
import type { AccountFigures } from '../../state/figures/figures.ts';
import type { AccountReading } from './account-answer.ts';
import { isPositionExplained, valueAccount } from './account-check.ts';
import type { ReportedPosition } from './account-shape.ts';
import type { TierTable } from './margin-tables.ts';
import type { MarketDirectory } from './market-directory.ts';
import { readPrinted } from './printed-amounts.ts';

/**
 * Returns the reading with separate tiers for some positions. `tables` has the tiers by coin; other
 * positions use their market's tiers.
 */
export function withTiers(
  reading: AccountReading,
  tables: ReadonlyMap<string, TierTable>,
): AccountReading {
  if (tables.size === 0) return reading;
  const positions = reading.rows.positions.map((row) => {
    const ownTiers = tables.get(row.market.coin);
    return ownTiers === undefined ? row : { ...row, ownTiers };
  });
  return { ...reading, rows: { ...reading.rows, positions } };
}

/** Gives each of these positions a table of one tier: in the past, all tables had one tier. */
export function withSingleTiers(
  reading: AccountReading,
  coins: ReadonlySet<string>,
): AccountReading {
  const tables = reading.reported.positions
    .filter(({ coin }) => coins.has(coin))
    .flatMap((position): [string, TierTable][] => {
      const table = singleTier(position);
      return table === undefined ? [] : [[position.coin, table]];
    });
  return withTiers(reading, new Map(tables));
}

/** Returns undefined if no table can have this leverage. */
function singleTier({ maxLeverage }: ReportedPosition): TierTable | undefined {
  const { from, to } = LEVERAGE_RANGE;
  const isValid = Number.isInteger(maxLeverage) && maxLeverage >= from && maxLeverage <= to;
  return isValid ? [{ lowerBound: 0, maxLeverage }] : undefined;
}

/**
 * A tier table that reproduces the position's figures, with the maintenance margin that results
 * from this table.
 */
interface Fit {
  readonly table: TierTable;
  /** The position's part of the account's cross maintenance margin; 0 for an isolated position. */
  readonly crossMaintenance: Exact;
}

type FitsByCoin = ReadonlyMap<string, readonly Fit[]>;

/** The maximum number of combinations of tables. If there are more, none is tried. */
const COMBINATIONS_MAX = 10_000;
/**
 * The maximum number of valuations in one search. Each position is valued with each table, and a
 * server may list any number of tables.
 */
const VALUATIONS_MAX = 1_000;

interface Circumstances {
  readonly directory: MarketDirectory;
  readonly collateral: number;
}

/**
 * Returns the reading with one of the exchange's tables for each of these positions. Each table
 * reproduces the figures of its position, and all tables together reproduce the account's
 * maintenance margin. Returns undefined if no tables were found that do this.
 */
export function withFittingTiers(
  reading: AccountReading,
  coins: ReadonlySet<string>,
  circumstances: Circumstances,
): AccountReading | undefined {
  const fits = findFits(reading, coins, circumstances);
  if (fits.size < coins.size) return undefined;
  const combinations = [...fits.values()].reduce((product, { length }) => product * length, 1);
  if (combinations > COMBINATIONS_MAX) return undefined;
  const figures = valueAccount(reading.rows, circumstances.directory);
  if (figures instanceof Error) return undefined;
  let rest = maintenanceOf(reading);
  if (rest === undefined) return undefined;
  for (const { market, isIsolated, maintenanceMargin } of figures.positions) {
    if (!isIsolated && !coins.has(market.coin)) rest = subtract(rest, maintenanceMargin);
  }
  const tables = combine([...fits], rest);
  return tables && withTiers(reading, new Map(tables));
}

/** Chooses one table for each coin, so that their maintenance margins add up to `sum`. */
function combine(
  [first, ...others]: readonly (readonly [string, readonly Fit[]])[],
  sum: Exact,
): [string, TierTable][] | undefined {
  if (first === undefined) return sum === 0 ? [] : undefined;
  const [coin, fits] = first;
  for (const { table, crossMaintenance } of fits) {
    const rest = combine(others, subtract(sum, crossMaintenance));
    if (rest !== undefined) return [[coin, table], ...rest];
  }
  return undefined;
}

/**
 * Finds the tables that fit, by coin. If several tables give the same maintenance margin, only the
 * first of them is returned.
 */
function findFits(
  reading: AccountReading,
  coins: ReadonlySet<string>,
  circumstances: Circumstances,
): FitsByCoin {
  const fits = new Map<string, Fit[]>();
  const whole = valueAccount(reading.rows, circumstances.directory);
  if (whole instanceof Error) return fits;
  const searched = withOnly(reading, coins);
  const candidates = new Map(
    searched.reported.positions.map((position) => [
      position.coin,
      candidatesOf(position, circumstances.directory),
    ]),
  );
  const rounds = Math.max(0, ...[...candidates.values()].map(({ length }) => length));
  const roundsMax = Math.min(rounds, Math.ceil(VALUATIONS_MAX / coins.size));
  for (let round = 0; round < roundsMax; round++) {
    const tried = new Map(
      [...candidates].flatMap(([coin, tables]) => (round in tables ? [[coin, tables[round]]] : [])),
    );
    const explained = explain(withTiers(searched, tried), whole, circumstances);
    for (const [coin, crossMaintenance] of explained) {
      const table = tried.get(coin);
      const known = fits.get(coin) ?? [];
      if (table === undefined || known.some((fit) => fit.crossMaintenance === crossMaintenance)) {
        continue;
      }
      fits.set(coin, [...known, { table, crossMaintenance }]);
    }
  }
  return fits;
}

/** Returns the reading with only the positions in these coins. */
function withOnly({ rows, reported }: AccountReading, coins: ReadonlySet<string>): AccountReading {
  const isSearched = (coin: string) => coins.has(coin);
  return {
    rows: {
      ...rows,
      positions: rows.positions.filter(({ market }) => isSearched(market.coin)),
    },
    reported: {
      ...reported,
      positions: reported.positions.filter(({ coin }) => isSearched(coin)),
    },
  };
}

function candidatesOf(position: ReportedPosition, directory: MarketDirectory): TierTable[] {
  const single = singleTier(position);
  const listed = directory.marginTables.filter((table) =>
    table.some(({ maxLeverage }) => maxLeverage === position.maxLeverage),
  );
  return single === undefined ? listed : [single, ...listed];
}

/**
 * Returns the coins whose figures the rows reproduce, with the maintenance margin of each. Each
 * position is checked separately, with the figures of the whole account and with the reported
 * maintenance margin.
 */
function explain(
  { rows, reported }: AccountReading,
  whole: AccountFigures,
  { directory, collateral }: Circumstances,
): [string, Exact][] {
  const searched = valueAccount(rows, directory);
  const crossMaintenanceMargin = maintenanceOf({ reported });
  if (searched instanceof Error || crossMaintenanceMargin === undefined) return [];
  const { positions } = searched;
  const account = { ...whole, positions, crossMaintenanceMargin, collateral };
  return reported.positions
    .filter((position) => isPositionExplained(account, position))
    .map(({ coin }) => {
      const position = positions.find(({ market }) => market.coin === coin);
      const isCross = position !== undefined && !position.isIsolated;
      return [coin, isCross ? position.maintenanceMargin : 0];
    });
}

/** Returns undefined if the reported text is not an amount. */
function maintenanceOf({ reported }: Pick<AccountReading, 'reported'>): Exact | undefined {
  try {
    return readPrinted(reported.crossMaintenanceMarginUsed, USD_DECIMALS);
  } catch (error) {
    if (error instanceof DecimalError) return undefined;
    throw error;
  }
}
