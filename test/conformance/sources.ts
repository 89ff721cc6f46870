/** An archive and an exchange that answer the questions of the table which the ledger does not answer. */

import assert from 'node:assert/strict';
import { openArchive } from '../../src/archive/reading/archive.ts';
import { ArchivedHistory } from '../../src/archive/reading/archived-history.ts';
import { parseBlock } from '../../src/events/event.ts';
import type { HistoryView } from '../../src/info/archive/history-view.ts';
import type { ArchiveQuestion, QuestionBody } from '../../src/info/question.ts';
import { STATE_TYPES } from '../../src/info/question-types.ts';
import { answerQuestion, readQuestion } from '../../src/info/read-question.ts';
import { applyBlock } from '../../src/state/fold.ts';
import { createState, type StateView } from '../../src/state/state.ts';
import type { ForwardOutcome } from '../../src/upstream/channel/follower-client.ts';
import { HEIGHT } from '../../tools/harness/service.ts';
import { simulateLines } from '../../tools/harness/simulated-lines.ts';
import { archiveOnce } from '../archive/archived.ts';
import { answerSteps } from '../info/histories.ts';
import { STATUS } from '../upstream/channel/conformance.ts';
import { connectInProcess } from '../upstream/channel/in-process.ts';
import type { Case, Fields } from './case.ts';
import { PAST_HEIGHT } from './question-cases.ts';
import type { AnswerSources } from './transports.ts';

/** What the exchange answers, by question. */
const exchangeAnswers = new Map<string, string>();
let history: HistoryView | undefined;

/** The fields of a question may come in any order. */
function keyOf({ type, variant }: Fields): string {
  return `${type} ${variant}`;
}

/** Gives the exchange its answers to the cases. */
export function teachExchange(cases: readonly Case[]): void {
  for (const { asked, expected } of cases) {
    if (expected.body !== undefined) {
      exchangeAnswers.set(keyOf(asked.question as Fields), expected.body);
    }
  }
}

function answerForwarded(question: QuestionBody): ForwardOutcome {
  const answer = exchangeAnswers.get(keyOf(question));
  if (answer === undefined) return { outcome: 'failed', reason: 'the table has no such question' };
  const value: unknown = JSON.parse(answer);
  const rows = Array.isArray(value) ? value.length : undefined;
  return { outcome: 'answered', bytes: Buffer.from(answer), rows };
}

export async function openSources(folder: string): Promise<AnswerSources> {
  await archiveOnce(folder);
  const archive = (await openArchive(folder)) ?? assert.fail('there is an archive');
  history = new ArchivedHistory(archive);
  const follower = connectInProcess({
    readItem: async () => ({ outcome: 'failed', reason: 'the ledger knows every account' }),
    noteInterest: () => undefined,
    forward: async (question) => answerForwarded(question),
    status: () => STATUS,
  });
  return {
    ...{ history: { isKept: true, find: () => history }, follower },
    close: () => archive.close(),
  };
}

/** The state at a height of the past, folded again. */
function foldTo(height: number): StateView {
  const folded = createState();
  for (const line of simulateLines(HEIGHT, 'http').slice(0, height)) {
    applyBlock(folded, parseBlock(line));
  }
  return folded;
}

const past = foldTo(PAST_HEIGHT);

/** The answer to a question about the past. */
export function answerPast(question: Fields): string {
  const { atHeight, ...present } = question;
  if (STATE_TYPES.some(({ type }) => type === question['type'])) {
    return answerQuestion(past, present);
  }
  assert.ok(history !== undefined);
  return answerSteps((readQuestion(question) as ArchiveQuestion).answer(history)).body;
}
