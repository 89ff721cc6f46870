/** Histories in memory, of which little more than times is known. */

import type { ArchiveAnswer, ArchiveSteps } from '../../src/info/archive/archive-answer.ts';
import type { HistoryView, PastView } from '../../src/info/archive/history-view.ts';
import type { ArchiveQuestion } from '../../src/info/question.ts';
import type { QuestionSubject } from '../../src/info/question-subject.ts';
import { createState, type StateView } from '../../src/state/state.ts';
import { checkAnswer } from '../../tools/harness/answer-checks.ts';
import { stateOf, TIME } from './states.ts';

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
    reads: { marks: 0, changes: 0 },
    range: () => ({ first: 1, firstTime, last: times.length, lastTime, text }),
    holds: (height) => height >= 1 && height <= times.length && !lost.includes(height),
    hasSeen: (after, to) => !lost.some((height) => height > after && height <= to),
    heightAt: (time) => countUpTo(times, time) || undefined,
    timeOf,
    markOf: () => 0,
    at: () => pastOf(createState()),
    sumsAt: () => ({ netTransfers: 0, volume: 0 }),
    nextChange: () => undefined,
    dexesOf: () => [],
    positionChanges: () => [],
    reductions: () => [],
    ...others,
  };
}

/** How many of the ascending times are not later. */
function countUpTo(times: readonly number[], time: number): number {
  let [from, to] = [0, times.length];
  while (from < to) {
    const middle = (from + to) >> 1;
    if (times[middle] <= time) from = middle + 1;
    else to = middle;
  }
  return from;
}

export type AnswerAsText = ArchiveAnswer & { readonly body: string };

export function answerSteps(steps: ArchiveSteps): AnswerAsText {
  for (;;) {
    const step = steps.next();
    if (step.done === true) return { ...step.value, body: String(step.value.body) };
  }
}

/** The answer to a question, checked against the schema of its type. */
export function answerFrom(question: ArchiveQuestion, history: HistoryView): AnswerAsText {
  const answer = answerSteps(question.answer(history));
  if (answer.format === 'json') checkAnswer(question.type, answer.body);
  return answer;
}

/** What a history was asked for, in order. */
export type Call = readonly [call: string, ...values: unknown[]];

/**
 * Blocks a second apart, with their true states; transfers of an account are its height in dollars, its
 * volume ten times as much. Only heights that are kept can be looked at.
 */
export function foldedHistory(
  blocks: readonly (readonly unknown[])[],
  others: Parameters<typeof historyOf>[1] = {},
): { readonly history: HistoryView; readonly calls: Call[] } {
  const calls: Call[] = [];
  const history: HistoryView = historyOf(
    blocks.map((_, index) => TIME + index * 1000),
    { at: (height) => foldedPast(height), heightAt: findKept, sumsAt: sumsOf, ...others },
  );
  const dollars = (count: number) => count * 1_000_000;
  function sumsOf(_account: unknown, height: number) {
    return { netTransfers: dollars(height), volume: dollars(10 * height) };
  }
  /** The last height that is kept and not later. */
  function findKept(time: number): number | undefined {
    const heights = blocks.map((_, index) => index + 1);
    return heights.findLast((each) => history.holds(each) && history.timeOf(each) <= time);
  }
  const stateAt = (height: number) => {
    if (!history.holds(height)) throw new Error(`height ${height} is not kept`);
    return stateOf(...blocks.slice(0, height));
  };
  function foldedPast(first: number): PastView {
    calls.push(['at', first]);
    let state = stateAt(first);
    return {
      ...pastOf(state),
      get state() {
        return state;
      },
      load(subject: QuestionSubject) {
        calls.push(['load', subject.kind, 'dexIndex' in subject ? subject.dexIndex : undefined]);
      },
      loadMarks: () => calls.push(['loadMarks']),
      moveTo(height) {
        calls.push(['moveTo', height]);
        state = stateAt(height);
      },
      revalueAt(height) {
        calls.push(['revalueAt', height]);
        const marks = (blocks[height - 1] as { type: string }[]).filter(
          ({ type }) => type === 'marks',
        );
        state = stateOf(...blocks.slice(0, state.height), marks);
      },
      release: () => calls.push(['release']),
      sumsOf: () => sumsOf(undefined, state.height),
    };
  }
  return { history, calls };
}
