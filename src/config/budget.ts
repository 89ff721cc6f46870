/** The rate limit of a key and its text, such as "1200/min". */

export interface Budget {
  readonly weight: number;
  readonly periodMs: number;
}

const PERIODS_MS: Readonly<Record<string, number>> = { s: 1000, min: 60_000, h: 3_600_000 };

/**
 * The weight of most questions. A smaller budget could not pay for most questions. Batches may
 * weigh more.
 */
const BUDGET_WEIGHT_MIN = 20;
const BUDGET_WEIGHT_MAX = 1_000_000_000;

export const BUDGET_EXPECTED = `WEIGHT/s, WEIGHT/min or WEIGHT/h with a weight from ${BUDGET_WEIGHT_MIN} to ${BUDGET_WEIGHT_MAX}`;

/** Returns the budget that the text describes; returns undefined if the text is not a budget. */
export function parseBudget(text: string): Budget | undefined {
  const match = /^(\d{1,10})\/(s|min|h)$/.exec(text);
  if (match === null) return undefined;
  const budget = { weight: Number(match[1]), periodMs: PERIODS_MS[match[2]] };
  return isBudget(budget) ? budget : undefined;
}

/** Checks numbers that come from outside, such as a stored key. */
export function isBudget({ weight, periodMs }: Budget): boolean {
  const isWeight = weight >= BUDGET_WEIGHT_MIN && weight <= BUDGET_WEIGHT_MAX;
  return isWeight && Number.isInteger(weight) && Object.values(PERIODS_MS).includes(periodMs);
}

export function formatBudget({ weight, periodMs }: Budget): string {
  const unit = Object.keys(PERIODS_MS).find((name) => PERIODS_MS[name] === periodMs);
  return `${weight}/${unit}`;
}
