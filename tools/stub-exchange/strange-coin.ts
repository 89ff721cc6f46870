/**
 * A coin that the ledger does not allow, because its name has an invalid character. The coin is
 * listed among the other coins, and some users have positions in it.
 */

import { formatUnits, parseBigUnits } from '../../src/exact/decimal.ts';

type Json = ReturnType<typeof JSON.parse>;

export const STRANGE_COIN = 'TST/2';
const LEVERAGE = 3;
/**
 * The coin's index in the universe. It is in the middle, so that a list without this coin would be
 * shifted.
 */
const PLACE = 5;
const MARK = '1.5';

const POSITION = {
  coin: STRANGE_COIN,
  szi: '10.0',
  leverage: { type: 'isolated', value: LEVERAGE, rawUsd: '-10.0' },
  entryPx: '1.5',
  positionValue: '15.0',
  unrealizedPnl: '0.0',
  returnOnEquity: '0.0',
  liquidationPx: '1.2',
  marginUsed: '5.0',
  maxLeverage: LEVERAGE,
  cumFunding: { allTime: '0.0', sinceOpen: '0.0', sinceChange: '0.0' },
};

/** The part of the account's summary that comes from this position. */
const ADDED = {
  accountValue: POSITION.marginUsed,
  totalNtlPos: POSITION.positionValue,
  totalRawUsd: POSITION.leverage.rawUsd,
  totalMarginUsed: POSITION.marginUsed,
};

/** True for one user of eight. */
export function holdsStrangeCoin(user: string): boolean {
  return /[07]$/.test(user);
}

export function addStrangeListing(universe: Json[]): void {
  universe.splice(PLACE, 0, {
    szDecimals: 2,
    name: STRANGE_COIN,
    maxLeverage: LEVERAGE,
    marginTableId: LEVERAGE,
  });
}

export function addStrangeContext(contexts: Json[]): void {
  contexts.splice(PLACE, 0, { ...contexts[0], markPx: MARK, midPx: MARK });
}

export function addStrangePosition(account: Json, { user, dex = '' }: Json): void {
  if (dex !== '' || !holdsStrangeCoin(user)) return;
  account.assetPositions.push({ type: 'oneWay', position: POSITION });
  const { marginSummary } = account;
  for (const [figure, amount] of Object.entries(ADDED)) {
    const sum = parseBigUnits(marginSummary[figure], 6) + parseBigUnits(amount, 6);
    marginSummary[figure] = formatUnits(sum, 6);
  }
}
