/**
 * The weight of an answer from the archive. Every read from the archive has a share of weight. If
 * the sum of the shares is higher than the base weight, the difference is the surcharge. The
 * surcharge is charged while the work goes on, so that a key without budget is refused before the
 * work is complete.
 */

import type { ArchiveReads, HistoryView } from './history-view.ts';

/**
 * The share of each read, in weight units. The shares are whole numbers, or fractions whose
 * denominators are powers of two, so that sums are exact. The documents name these fractions.
 */
export const WEIGHT_SHARES = {
  moment: 10,
  account: 3,
  point: 1 / 16,
  mark: 1 / 16,
  change: 1 / 32,
  row: 1 / 8,
} as const;

/**
 * The reads that have a share, in words.
 *
 * @internal Exported for the test that compares it with the documents.
 */
export const SHARE_TEXTS: Readonly<Record<ShareName, string>> = {
  moment: 'a question with `atHeight` or `atTime`',
  account: 'an account, or the stakes of an address, that such a question is about',
  point: 'a point of a series that is asked for',
  mark: 'an open position each time that it is valued, or a market of an answer about all of them',
  change: 'a change of the account, or of one of its positions, by a block',
  row: 'a row of `positionHistory` or `liquidationHistory`',
};

export type ShareName = keyof typeof WEIGHT_SHARES;

/** The shares of a question about the present that names a moment of the past. */
const MOMENT_SHARES: readonly ShareName[] = ['moment', 'account', 'mark', 'change'];

/**
 * A share as a whole number or a fraction: "10", "1/16".
 *
 * @internal Exported for the test that compares it with the documents.
 */
export function formatShare(share: number): string {
  return share < 1 ? `1/${1 / share}` : `${share}`;
}

/** The surcharge of a question with these shares, as a sentence. */
export function describeSurcharge(shares?: readonly ShareName[]): string {
  const named = shares ?? MOMENT_SHARES;
  const texts = named.map((name) => `${formatShare(WEIGHT_SHARES[name])} for ${SHARE_TEXTS[name]}`);
  const when = shares === undefined ? 'About a moment it' : 'It';
  return `${when} weighs the sum of this instead, if that is more: ${texts.join('; ')}.`;
}

function weigh({ marks, changes }: ArchiveReads): number {
  return marks * WEIGHT_SHARES.mark + changes * WEIGHT_SHARES.change;
}

/**
 * Runs the steps and returns their answer. After each step, yields the weight that the step adds
 * above the base weight.
 */
export function* withSurcharge<T>(
  { reads }: Pick<HistoryView, 'reads'>,
  baseWeight: number,
  steps: Generator<number, T, void>,
): Generator<number, T, void> {
  let shares = 0;
  let charged = baseWeight;
  try {
    for (;;) {
      // Between the steps, other questions read from the archive, and `reads` counts their reads
      // too.
      const before = weigh(reads);
      const step = steps.next();
      shares += weigh(reads) - before + (step.done === true ? 0 : step.value);
      const surcharge = Math.max(0, shares - charged);
      charged += surcharge;
      if (step.done !== true || surcharge > 0) yield surcharge;
      if (step.done === true) return step.value;
    }
  } finally {
    // Release the loaded rows, also if the answer was cancelled.
    steps.return(undefined as T);
  }
}
