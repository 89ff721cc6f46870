/** Histories in memory, of which little more than times is known. */

import type { HistoryAnswer, HistorySteps } from '../../src/info/history-question.ts';
import type { HistoryView, PastView } from '../../src/info/history-view.ts';
import { createState, type StateView } from '../../src/state/state.ts';

export function pastOf(state: StateView): PastView {
  return {
    state,
    load: () => undefined,
    loadMarks: () => undefined,
    revalueAt: () => undefined,
    release: () => undefined,
    moveTo: () => undefined,
    sumsOf: () => ({ netTransfers: 0, volume: 0 }),
  };
}

/** Heights from 1 on, at these times; some of them are not kept. */
export function historyOf(
  times: readonly number[],
  { lost = [], ...others }: Partial<HistoryView> & { lost?: readonly number[] } = {},
): HistoryView {
  const timeOf = (height: number) => times[height - 1];
  const [firstTime, lastTime] = [times[0], times[times.length - 1]];
  const text = `heights 1 to ${times.length}`;
  return {
    ledgerId: '',
    range: () => ({ first: 1, firstTime, last: times.length, lastTime, text }),
    holds: (height) => height >= 1 && height <= times.length && !lost.includes(height),
    heightAt: (time) => times.findLastIndex((each) => each <= time) + 1 || undefined,
    timeOf,
    markOf: () => 0,
    at: () => pastOf(createState()),
    dexesOf: () => [],
    positionChanges: () => [],
    reductions: () => [],
    ...others,
  };
}

export function answerSteps(steps: HistorySteps): HistoryAnswer {
  for (;;) {
    const step = steps.next();
    if (step.done === true) return step.value;
  }
}
