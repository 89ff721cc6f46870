/** Which figures of `weights.ts` are beyond their limits. */

import { median } from '../frame/measure.ts';
import { atMost, type Goal } from '../frame/report.ts';
import type { Figures } from './measure.ts';

/** Beyond this many times an ordinary question the rule is broken. */
const TIMES_MAX = 8;
const SLICE_MS_MAX = 10;
/** What is charged nothing may cost as much as the lightest answer. */
const FREE_WEIGHT = 2;

interface Round extends Figures {
  /** Microseconds for a unit of weight of an ordinary question, just before. */
  readonly ordinary: number;
}

/** What was measured of a question. */
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

/** A slice is what the code does at most: what other programs add is not in all rounds. */
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

/** Charges are sums of fractions, and a bucket refills while it is measured. */
function formatWeight(weight: number): string {
  const rounded = Math.round(weight * 10) / 10;
  return `${Object.is(rounded, -0) ? 0 : rounded}`;
}

/** The rows in the order of a figure, from the largest. */
function sortBy(rows: readonly Row[], of: (row: Row) => number[]): Row[] {
  return [...rows].sort((one, other) => median(of(other)) - median(of(one)));
}

/** For each limit, the row that is nearest to it, and all that are beyond it. */
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
