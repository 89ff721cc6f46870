/** `perpinfo serve`: answers over HTTP from a ledger. */

import { checkFeedSettings, FEED_SETTINGS } from '../feed/feed-settings.ts';
import { createNdjsonFeed } from '../feed/ndjson.ts';
import { createLog, LOG_SETTINGS, STANDARD_ERROR, STANDARD_OUTPUT } from '../service/log.ts';
import { runFedService, runService, SERVE_SETTINGS } from '../service/run-service.ts';
import type { Command } from './command.ts';
import { closeStandardInput, readStandardInput } from './standard-input.ts';

const settings = [
  ...new Set([...SERVE_SETTINGS, 'feed' as const, ...FEED_SETTINGS, ...LOG_SETTINGS]),
];

export const serve: Command<(typeof settings)[number]> = {
  name: 'serve',
  summary: 'Answers questions over HTTP, following the ledger as it grows.',
  settings,
  details:
    'POST /{key}/info answers, and so does GET with the question in its query; a WebSocket at\n' +
    '/{key}/ws pushes. GET /health reports how fresh the answers are; metrics for Prometheus are on\n' +
    'the admin port. Keys are created with "perpinfo keys create". SIGTERM and SIGINT stop the\n' +
    'service once requests in flight are answered; the exit code is then 0.\n' +
    'With --feed -, a process beside the workers appends blocks from standard input, as "append"\n' +
    'does; the log is then on standard error, and "durable HEIGHT" on standard output. The service\n' +
    'keeps answering when the input ends, and when a block is refused or cannot be stored: /health\n' +
    'is then 503 (feed_failed) until more blocks arrive, and the final exit code is 1.',
  example: 'your-feed | perpinfo serve --data ./data --feed - --port 8080 --workers 2',
  isService: true,
  async run({ settings: chosen, signal, terminal }) {
    if (chosen.feed === undefined) {
      return runService({ settings: chosen, log: createLog(chosen, STANDARD_OUTPUT), signal });
    }
    checkFeedSettings(chosen);
    await runFedService({
      settings: chosen,
      log: createLog(chosen, STANDARD_ERROR),
      signal,
      feed: createNdjsonFeed({
        name: 'standard input',
        lineBytesMax: chosen.blockBytesMax,
        read: readStandardInput,
      }),
      durable: (height) => terminal.printDurable(height),
      closed: closeStandardInput,
    });
  },
};
