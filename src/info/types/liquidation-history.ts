/**
 * `liquidationHistory`: positions that became smaller while they were below their maintenance
 * margin.
 */

import { formatUnits } from '../../exact/decimal.ts';
import { findAccount } from '../../state/accounts.ts';
import { accountFigures } from '../../state/figures/figures.ts';
import { isLiquidatable } from '../../state/figures/liquidation.ts';
import { findDexAtEnd } from '../answers/account-series.ts';
import type { ArchiveSteps } from '../archive/archive-answer.ts';
import type { HistoryView, PastView, ReducedPosition, Reduction } from '../archive/history-view.ts';
import { WEIGHT_SHARES } from '../archive/surcharge.ts';
import { heightsOf, POINTS_MAX, readTimeRange, timeRangeFields } from '../archive/time-range.ts';
import { addressField } from '../fields/address-field.ts';
import { dexField } from '../fields/dex-field.ts';
import type { AccountSubject } from '../question-subject.ts';
import type { ArchiveQuestionType } from '../question-type.ts';
import { type RequestError, wrongValue } from '../request-error.ts';
import { amount, anyText, choiceOf, listOf, object, wholeNumber } from '../schema.ts';

/**
 * The maximum number of blocks that are read for an answer. A block takes as long as several points
 * of a series.
 */
const BLOCKS_MAX = 5_000;

const fields = { user: addressField, dex: dexField, ...timeRangeFields };

export const liquidationHistory: ArchiveQuestionType<typeof fields> = {
  source: 'archive',
  type: 'liquidationHistory',
  group: 'history',
  summary:
    `The first ${POINTS_MAX} times that a position of the account became smaller while it was below its ` +
    'maintenance margin: a ledger has no event for a liquidation.',
  weight: 20,
  shares: ['change', 'mark', 'row'],
  fields,
  answerSchema: listOf(
    object({
      height: wholeNumber,
      time: wholeNumber,
      coin: anyText,
      szi: amount,
      sziAfter: amount,
      markPx: amount,
      marginMode: choiceOf('cross', 'isolated'),
    }),
  ),
  example: {
    question: {
      type: 'liquidationHistory',
      user: '0xeaa346d93e222853a2229e2fbb584830fa478fd2',
      dex: '',
      from: 1758556800000,
      to: 1758560400000,
    },
    answer: [
      {
        height: 908,
        time: 1758557707000,
        coin: 'BTC',
        szi: '0.04226',
        sziAfter: '0.0',
        markPx: '93121.0',
        marginMode: 'isolated',
      },
    ],
  },
  hasCsv: true,
  *answer(history, { user, dex, from, to }, format): ArchiveSteps {
    const range = readTimeRange(history, { from, to });
    // Read this now, because the archive grows while the blocks are read.
    const { last, lastTime } = history.range();
    const subject = {
      kind: 'account',
      user,
      dexIndex: findDexAtEnd(history, range, dex),
    } as const;
    const reductions = yield* listReductions(history, subject, heightsOf(history, range));
    const walk = new LiquidationWalk(history, subject);
    const rows: Row[] = [];
    try {
      for (const reduction of reductions) {
        const found = walk.findAt(reduction);
        rows.push(...found);
        yield found.length * WEIGHT_SHARES.row;
        if (rows.length >= POINTS_MAX) break;
      }
    } finally {
      walk.release();
    }
    const listed = rows.slice(0, POINTS_MAX);
    const body = format === 'csv' ? toCsv(listed) : JSON.stringify(listed);
    const { isFixed } = range;
    return { body, format, height: last, time: lastTime, isFixed, accountTime: -1 };
  },
};

/** The blocks that made positions smaller. Too many blocks are refused. */
function* listReductions(
  history: HistoryView,
  account: AccountSubject,
  heights: { readonly from: number; readonly to: number },
): Generator<number, readonly Reduction[], void> {
  const reductions: Reduction[] = [];
  for (const reduction of history.reductions(account, heights)) {
    if (reduction !== undefined && reductions.push(reduction) > BLOCKS_MAX) {
      throw refuseLong(history.timeOf(heights.to), history.timeOf(reduction.height));
    }
    yield 0;
  }
  return reductions;
}

/** `tooLate` is the time of the first block that is beyond the maximum. */
function refuseLong(to: number, tooLate: number): RequestError {
  const why = `${BLOCKS_MAX} blocks that made a position smaller are looked at`;
  return wrongValue('to', to, `a time before ${tooLate}: ${why}, there are more until then`);
}

/** Reads the blocks in order, and compares each block with the rows of the account before it. */
class LiquidationWalk {
  readonly #history: HistoryView;
  readonly #subject: AccountSubject;
  #past: PastView | undefined;

  constructor(history: HistoryView, subject: AccountSubject) {
    this.#history = history;
    this.#subject = subject;
  }

  /**
   * The positions that were below their maintenance margin before the block, or with the marks of
   * the block.
   */
  findAt({ height, positions }: Reduction): Row[] {
    // The archive may not have the block before.
    if (!this.#history.holds(height - 1)) return [];
    const past = this.#moveTo(height - 1);
    const before = findLiquidatable(past, this.#subject);
    past.revalueAt(height);
    const after = findLiquidatable(past, this.#subject);
    return positions.flatMap((position) => {
      const marginMode = before.get(position.market) ?? after.get(position.market);
      if (marginMode === undefined) return [];
      return [describe(this.#history, past, height, position, marginMode)];
    });
  }

  #moveTo(height: number): PastView {
    if (this.#past === undefined) {
      this.#past = this.#history.at(height);
      this.#past.load(this.#subject);
    } else {
      this.#past.moveTo(height);
    }
    return this.#past;
  }

  /** Call this after the last block. */
  release(): void {
    this.#past?.release();
    this.#past = undefined;
  }
}

type MarginMode = 'cross' | 'isolated';

/** The account's positions that may be liquidated, by market. */
function findLiquidatable(
  { state }: PastView,
  { user, dexIndex }: AccountSubject,
): Map<number, MarginMode> {
  const found = new Map<number, MarginMode>();
  const figures = accountFigures(state, findAccount(state, state.addresses.find(user), dexIndex));
  for (const position of figures.positions) {
    if (!isLiquidatable(figures, position)) continue;
    const market = state.markets.findMarket(position.market.coin) as number;
    found.set(market, position.isIsolated ? 'isolated' : 'cross');
  }
  return found;
}

function describe(
  history: HistoryView,
  { state }: PastView,
  height: number,
  { market, before, after }: ReducedPosition,
  marginMode: MarginMode,
) {
  const { coin, sizeDecimals, priceDecimals } = state.markets.markets[market];
  return {
    height,
    time: history.timeOf(height),
    coin,
    szi: formatUnits(before, sizeDecimals),
    sziAfter: formatUnits(after, sizeDecimals),
    markPx: formatUnits(history.markOf(market, height), priceDecimals),
    marginMode,
  };
}

type Row = ReturnType<typeof describe>;

const CSV_COLUMNS = ['height', 'time', 'coin', 'szi', 'sziAfter', 'markPx', 'marginMode'] as const;

function toCsv(rows: readonly Row[]): string {
  const lines = rows.map((row) => CSV_COLUMNS.map((column) => row[column]));
  return [CSV_COLUMNS, ...lines].map((line) => `${line.join(',')}\r\n`).join('');
}
