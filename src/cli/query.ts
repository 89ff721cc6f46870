/** `perpinfo query`: the answer to one question, offline. */

import { UsageError } from '../config/usage-error.ts';
import { answerQuestion } from '../info/registry.ts';
import { RequestError } from '../info/request-error.ts';
import { STORAGE_SETTINGS } from '../ledger/location.ts';
import { restoreReplica } from '../replica/replica.ts';
import { openStorage } from '../replica/storage.ts';
import type { StateView } from '../state/state.ts';
import type { Command } from './command.ts';
import { reportReplay } from './replay-report.ts';

const settings = [...STORAGE_SETTINGS, 'at'] as const;

export const query: Command<(typeof settings)[number]> = {
  name: 'query',
  summary: 'Answers one question from the ledger, without a server.',
  positional: { usage: 'JSON', help: 'the question, an object with a type', required: true },
  settings,
  details:
    'Prints the answer on standard output. With --at, answers as of that height, from the nearest\n' +
    'earlier snapshot and the blocks after it.',
  example: `perpinfo query --data ./data '{"type":"perpDeployAuctionStatus"}'`,
  async run({ settings: chosen, positionals, terminal, signal }) {
    const question = parseArgument(positionals[0]);
    const storage = await openStorage(chosen);
    try {
      const report = reportReplay({ terminal, signal });
      const replica = await restoreReplica({ ...storage, height: chosen.at, ...report });
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

/** A bad question is a usage error; one that a partial ledger cannot answer is not. */
function answer(state: StateView, question: unknown): string {
  try {
    return answerQuestion(state, question);
  } catch (error) {
    if (!(error instanceof RequestError)) throw error;
    const message = `${error.code}: ${error.message}`;
    throw error.status < 500 ? new UsageError([message]) : new Error(message);
  }
}
