/** `accountHistory`: an account's figures over time. */

import {
  AccountSeries,
  COLUMNS,
  findDexAtEnd,
  SERIES_AMOUNTS,
  SeriesWriter,
} from '../answers/account-series.ts';
import type { ArchiveSteps } from '../archive/archive-answer.ts';
import { WEIGHT_SHARES } from '../archive/surcharge.ts';
import {
  countPoints,
  listPoints,
  POINTS_MAX,
  readStep,
  readTimeRange,
  stepField,
  timeRangeFields,
} from '../archive/time-range.ts';
import { addressField } from '../fields/address-field.ts';
import { dexField } from '../fields/dex-field.ts';
import type { ArchiveQuestionType } from '../question-type.ts';
import { amount, listOf, orNull, tuple, wholeNumber } from '../schema.ts';

const fields = { user: addressField, dex: dexField, ...timeRangeFields, step: stepField };

export const accountHistory: ArchiveQuestionType<typeof fields> = {
  source: 'archive',
  type: 'accountHistory',
  group: 'history',
  summary:
    `An account's figures over time, at most ${POINTS_MAX} rows: ${COLUMNS.join(', ')}. Profit is ` +
    'accountValue less netTransfers. A row without a height is a gap in the ledger.',
  weight: 20,
  shares: ['point', 'mark', 'change'],
  fields,
  answerSchema: listOf(
    tuple(orNull(wholeNumber), wholeNumber, ...new Array(SERIES_AMOUNTS).fill(orNull(amount))),
  ),
  example: {
    question: {
      type: 'accountHistory',
      user: '0xeaa346d93e222853a2229e2fbb584830fa478fd2',
      dex: '',
      from: 1758556800000,
      to: 1758560400000,
      step: 3600000,
    },
    answer: [
      [1, 1758556800000, '850.0', '4111.0', '198.2', '468.8', '-5.8', '0.0', '850.0'],
      [3601, 1758560400000, '851.2', '4112.2', '198.2', '470.0', '-4.6', '0.0', '850.0'],
    ],
  },
  hasCsv: true,
  *answer(history, { user, dex, from, to, step }, format): ArchiveSteps {
    const range = readTimeRange(history, { from, to });
    // Read this now, because the archive grows while the rows are written.
    const { last, lastTime } = history.range();
    const stepMs = readStep(range, step);
    const dexIndex = findDexAtEnd(history, range, dex);
    yield countPoints(range, stepMs) * WEIGHT_SHARES.point;
    const series = new AccountSeries(history, user, dexIndex);
    const rows = new SeriesWriter(format);
    try {
      for (const point of listPoints(history, range, stepMs)) {
        rows.add(series.rowAt(point));
        yield 0;
      }
    } finally {
      series.release();
    }
    const { isFixed } = range;
    return { body: rows.finish(), format, height: last, time: lastTime, isFixed, accountTime: -1 };
  },
};
