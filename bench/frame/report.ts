/** Prints results: tables, and goals that were met or missed. */

import { type Comparison, type Spread, spreadOf } from './measure.ts';

/**
 * A line of the table of goals. A figure without a goal is only stated; `isMet` is then undefined.
 */
export interface Goal {
  readonly figure: string;
  readonly measured: string;
  readonly goal: string;
  readonly isMet: boolean | undefined;
}

/**
 * Returns the goal that the median of the ratios is at least the limit. Each round gives one ratio.
 */
export function atLeast(figure: string, limit: number, ratios: readonly number[]): Goal {
  const spread = spreadOf(ratios);
  const measured = formatSpread(spread, 2);
  return { figure, measured, goal: `at least ${limit}`, isMet: spread.median >= limit };
}

export function atMost(figure: string, limit: number, ratios: readonly number[], unit = ''): Goal {
  const spread = spreadOf(ratios);
  const measured = formatSpread(spread, unit === '' ? 2 : 0) + unit;
  return { figure, measured, goal: `at most ${limit}${unit}`, isMet: spread.median <= limit };
}

export function comparedAtMost(figure: string, limit: number, { ratios }: Comparison): Goal {
  return atMost(figure, limit, ratios);
}

/** Returns a figure without a goal. */
export function stated(figure: string, values: readonly number[], digits = 2): Goal {
  const measured = formatSpread(spreadOf(values), digits);
  return { figure, measured, goal: 'none', isMet: undefined };
}

/** Returns the spread of one figure over all rounds, as text. */
export function spreadIn<T extends object>(rounds: readonly T[], figure: keyof T, digits: number) {
  return formatSpread(spreadOf(rounds.map((round) => Number(round[figure]))), digits);
}

/** Returns a figure divided by the same figure of the reference, for each round. */
export function ratiosIn<T extends object>(
  rounds: readonly T[],
  reference: readonly T[],
  figure: keyof T,
): number[] {
  return rounds.map((round, index) => Number(round[figure]) / Number(reference[index][figure]));
}

export function formatSpread({ median, min, max }: Spread, digits: number): string {
  return `${median.toFixed(digits)} [${min.toFixed(digits)} to ${max.toFixed(digits)}]`;
}

function describeOutcome({ isMet }: Goal): string {
  if (isMet === undefined) return 'stated';
  return isMet ? 'met' : 'MISSED';
}

export function printGoals(goals: readonly Goal[]): void {
  const rows = goals.map((goal) => [goal.figure, goal.measured, goal.goal, describeOutcome(goal)]);
  printTable(['figure', 'median [smallest to largest]', 'goal', ''], rows);
}

/** Prints a table in Markdown, with aligned columns. */
export function printTable(titles: readonly string[], rows: readonly (readonly string[])[]): void {
  const widths = titles.map((title, column) =>
    Math.max(title.length, ...rows.map((row) => row[column].length)),
  );
  const printRow = (cells: readonly string[]) =>
    console.log(`| ${cells.map((cell, column) => cell.padEnd(widths[column])).join(' | ')} |`);
  printRow(titles);
  printRow(widths.map((width) => '-'.repeat(width)));
  for (const row of rows) printRow(row);
}
