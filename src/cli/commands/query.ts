/** `perpinfo query`: answers one question without a server. */

import { UsageError } from '../../config/usage-error.ts';
import { isJsonObject } from '../../events/fields.ts';
import { findMomentFault } from '../../info/fields/past-moment.ts';
import { answerQuestion, readQuestion } from '../../info/read-question.ts';
import { RequestError, wrongValue } from '../../info/request-error.ts';
import { STORAGE_SETTINGS } from '../../ledger/settings.ts';
import { EXPENSIVE_REPLAY_MS } from '../../replica/replayed-snapshot.ts';
import { restoreReplica } from '../../replica/replica.ts';
import { openStorage } from '../../replica/storage.ts';
import type { StateView } from '../../state/state.ts';
import type { Command } from '../command.ts';
import { reportReplay } from '../replay-report.ts';
import { QUERY_SETTINGS } from '../settings.ts';

const settings = { ...STORAGE_SETTINGS, ...QUERY_SETTINGS };

export const query: Command<typeof settings> = {
  name: 'query',
  summary: 'Answers one question from the ledger, without a server.',
  positional: { usage: 'JSON', help: 'the question, an object with a type', required: true },
  settings,
  details:
    'Prints the answer on standard output. With --at, answers as of that height, from the nearest\n' +
    'earlier snapshot and the blocks after it. It reads no archive: a question with atHeight, atTime or\n' +
    'a time range is refused. "perpinfo history" prints an account over time, "serve" answers the others.',
  example: `perpinfo query --data ./data '{"type":"perpDeployAuctionStatus"}'`,
  async run({ settings: chosen, positionals, terminal, signal }) {
    const question = parseArgument(positionals[0]);
    refuseArchived(question);
    const storage = await openStorage(chosen);
    try {
      const report = reportReplay({ terminal, signal });
      const saveAfterMs = EXPENSIVE_REPLAY_MS;
      const options = { ...storage, height: chosen.at, saveAfterMs, ...report };
      const replica = await restoreReplica(options);
      await terminal.write(`${answer(replica.state, question)}\n`);
    } finally {
      await storage.close();
    }
  },
};

function parseArgument(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    const shown = JSON.stringify(text.slice(0, 60));
    throw new UsageError([`malformed_json: JSON: got ${shown}, expected an object with a type`]);
  }
}

/** Refuses questions that only a service can answer, from its archive. */
function refuseArchived(question: unknown): void {
  const read = readQuestion(question);
  if (read instanceof RequestError || read.source !== 'archive' || !isJsonObject(question)) return;
  const fault =
    findMomentFault(question, 'query answers the past with --at HEIGHT') ??
    wrongValue('type', question['type'], `a question about one height: ${SERIES_ADVICE}`);
  throw new UsageError([`${fault.code}: ${fault.message}`]);
}

const SERIES_ADVICE = '"perpinfo history" prints an account over time, "serve" answers the others';

/**
 * Answers a question. An invalid question is a usage error; a question that a partial ledger cannot
 * answer is a failure.
 */
function answer(state: StateView, question: unknown): string {
  try {
    return answerQuestion(state, question);
  } catch (error) {
    if (!(error instanceof RequestError)) throw error;
    const message = `${error.code}: ${error.message}`;
    throw error.status < 500 ? new UsageError([message]) : new Error(message);
  }
}
