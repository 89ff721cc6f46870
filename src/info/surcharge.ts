/**
 * What an answer from the archive weighs. Each thing that it reads has a share; where the shares sum up to
 * more than the base weight, the rest is the surcharge. It is yielded as the work goes on, so that a key
 * with nothing left is refused before the rest is done.
 */

import type { ArchiveReads, HistoryView } from './history-view.ts';

/** Powers of two, so that sums are exact: the denominators are in the documents. */
export const WEIGHT_SHARES = {
  moment: 10,
  point: 1 / 16,
  mark: 1 / 16,
  change: 1 / 32,
  row: 1 / 8,
} as const;

function weigh({ marks, changes }: ArchiveReads): number {
  return marks * WEIGHT_SHARES.mark + changes * WEIGHT_SHARES.change;
}

/** The same answer; each step yields what it adds to the weight, beyond the base weight. */
export function* withSurcharge<T>(
  { reads }: Pick<HistoryView, 'reads'>,
  baseWeight: number,
  steps: Generator<number, T, void>,
): Generator<number, T, void> {
  let shares = 0;
  let charged = baseWeight;
  try {
    for (;;) {
      // Others read from the archive as well, between the steps.
      const before = weigh(reads);
      const step = steps.next();
      shares += weigh(reads) - before + (step.done === true ? 0 : step.value);
      const surcharge = Math.max(0, shares - charged);
      charged += surcharge;
      if (step.done !== true || surcharge > 0) yield surcharge;
      if (step.done === true) return step.value;
    }
  } finally {
    // The rows that were loaded are given back, also if nobody wants the rest.
    steps.return(undefined as T);
  }
}
