/** Decides which figures of `weights.ts` are beyond their limits. */

import { median } from '../frame/measure.ts';
import { atMost, type Goal } from '../frame/report.ts';
import type { Figures } from './measure.ts';

/** The maximum cost of a unit of weight, as a multiple of the cost in an ordinary question. */
const TIMES_MAX = 8;
const SLICE_MS_MAX = 10;
/** The weight of a question that is not charged: it may cost as much as the lightest answer. */
const FREE_WEIGHT = 2;

interface Round extends Figures {
  /**
   * The processor time of a unit of weight of an ordinary question, measured just before, in
   * microseconds.
   */
  readonly ordinary: number;
}

/** The measurements of a question. */
export interface Row {
  readonly question: string;
  readonly account: string;
  readonly rounds: Round[];
}

function perWeight({ microseconds, weight }: Round): number {
  return microseconds / (weight < 0.5 ? FREE_WEIGHT : Math.max(1, weight));
}

function timesOf(row: Row): number[] {
  return row.rounds.map((round) => perWeight(round) / round.ordinary);
}

/**
 * Returns the longest slices of the rounds. What other programs add to a slice is not in all
 * rounds.
 */
function slicesOf(row: Row): number[] {
  return row.rounds.map(({ sliceMs }) => sliceMs);
}

export function isBreach(row: Row): boolean {
  return median(timesOf(row)) > TIMES_MAX || median(slicesOf(row)) > SLICE_MS_MAX;
}

export const TITLES = [
  ...['question', 'account', 'status', 'bytes', 'µs', 'weight', 'µs per weight', 'times ordinary'],
  'longest slice, ms',
];

export function formatRow(row: Row): string[] {
  const { run, weight } = row.rounds[0];
  const times = median(timesOf(row));
  const sliceMs = median(slicesOf(row));
  return [
    row.question,
    row.account,
    Object.keys(run.statuses).join(' '),
    `${run.bytes}`,
    median(row.rounds.map(({ microseconds }) => microseconds)).toFixed(0),
    formatWeight(weight),
    median(row.rounds.map(perWeight)).toFixed(1),
    `${times.toFixed(1)}${times > TIMES_MAX ? ' !' : ''}`,
    `${sliceMs.toFixed(1)}${sliceMs > SLICE_MS_MAX ? ' !' : ''}`,
  ];
}

/**
 * Rounds a weight, because charges are sums of fractions, and a bucket is refilled during the
 * measurement.
 */
function formatWeight(weight: number): string {
  const rounded = Math.round(weight * 10) / 10;
  return `${Object.is(rounded, -0) ? 0 : rounded}`;
}

/** Returns the rows in the order of a figure, from the largest. */
function sortBy(rows: readonly Row[], of: (row: Row) => number[]): Row[] {
  return [...rows].sort((one, other) => median(of(other)) - median(of(one)));
}

/**
 * Returns the goals: for each limit, the row that is nearest to it, and all rows that are beyond
 * it.
 */
export function goalsOf(rows: readonly Row[]): Goal[] {
  const goals: Goal[] = [];
  const judge = (figure: string, limit: number, of: (row: Row) => number[], unit = '') => {
    sortBy(rows, of).forEach((row, index) => {
      const goal = atMost(`${figure}: ${row.question} ${row.account}`, limit, of(row), unit);
      if (index === 0 || goal.isMet === false) goals.push(goal);
    });
  };
  judge('µs per weight, times an ordinary one', TIMES_MAX, timesOf);
  judge('longest slice', SLICE_MS_MAX, slicesOf, ' ms');
  return goals;
}
