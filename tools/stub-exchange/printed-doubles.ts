/**
 * Prints amounts as the exchange does: the nearest double, with ten decimals and without trailing
 * zeros.
 */

type Json = ReturnType<typeof JSON.parse>;

const PRINTED_DECIMALS = 10;

export function printDouble(value: string | number): string {
  return Number(value)
    .toFixed(PRINTED_DECIMALS)
    .replace(/(\.\d+?)0+$/, '$1');
}

/**
 * The fields of a position that are amounts. Prices and ratios have a larger error, so they are not
 * included.
 */
const POSITION_AMOUNTS = ['szi', 'positionValue', 'unrealizedPnl', 'marginUsed'];

/** Prints every amount of an account's answer, in place. */
export function printAccount(account: Json): void {
  for (const summary of [account.marginSummary, account.crossMarginSummary]) {
    printFields(summary, Object.keys(summary));
  }
  printFields(account, ['crossMaintenanceMarginUsed', 'withdrawable']);
  for (const { position } of account.assetPositions) {
    printFields(position, POSITION_AMOUNTS);
    printFields(position.cumFunding, Object.keys(position.cumFunding));
    if (position.leverage.rawUsd !== undefined) printFields(position.leverage, ['rawUsd']);
  }
}

function printFields(holder: Json, names: readonly string[]): void {
  for (const name of names) holder[name] = printDouble(holder[name]);
}
