/** `perpinfo serve`: answers questions over HTTP from a ledger. */

import { UsageError } from '../../config/usage-error.ts';
import { createNdjsonFeed } from '../../feed/ndjson.ts';
import { FEED_CHOICE_SETTINGS, FEED_SETTINGS } from '../../feed/settings.ts';
import { checkFeedSettings } from '../../feed/writer-options.ts';
import { SERVICE_WAIT } from '../../ledger/settings.ts';
import { createLog, STANDARD_ERROR, STANDARD_OUTPUT } from '../../service/logging/log.ts';
import { runFedService, runFollowingService, runService } from '../../service/run-service.ts';
import { LOG_SETTINGS, SERVICE_SETTINGS } from '../../service/settings.ts';
import { FOLLOW_CHOICE_SETTINGS, FOLLOW_SETTINGS } from '../../upstream/settings.ts';
import type { Command } from '../command.ts';
import { closeStandardInput, readStandardInput } from '../standard-input.ts';

const settings = {
  ...SERVICE_SETTINGS,
  ...FEED_CHOICE_SETTINGS,
  ...FOLLOW_CHOICE_SETTINGS,
  ...FOLLOW_SETTINGS,
  ...FEED_SETTINGS,
  ...LOG_SETTINGS,
};

export const serve: Command<typeof settings> = {
  name: 'serve',
  summary: 'Answers questions over HTTP, following the ledger as it grows.',
  settings,
  details:
    'POST /{key}/info answers, and so does GET with the question in its query; a WebSocket at\n' +
    '/{key}/ws pushes. GET /health reports how fresh the answers are; metrics for Prometheus are on\n' +
    'the admin port. Keys are created with "perpinfo keys create". SIGTERM, SIGINT and\n' +
    'SIGHUP stop the service once requests in flight are answered; the exit code is then 0.\n' +
    'With --feed -, a separate process appends blocks from standard input, as "append" does; the log\n' +
    'is then on standard error, and "durable HEIGHT" on standard output. The service keeps answering\n' +
    'when the input ends, and when a block is refused or cannot be stored: /health is then 503\n' +
    '(feed_failed) until more blocks arrive, and the final exit code is 1.\n' +
    'With --follow URL, that process follows a server with the same interface: it reads the accounts\n' +
    'that clients ask for, records them, and updates them. It waits while the disk is full. See\n' +
    'docs/guide/follow.md.',
  example: 'your-feed | perpinfo serve --data ./data --feed - --port 8080 --workers 2',
  isService: true,
  async run({ settings: given, signal, terminal }) {
    const chosen = { ...given, ...SERVICE_WAIT };
    const { feed, follow } = chosen;
    if (feed !== undefined && follow !== undefined) {
      throw new UsageError(['--feed and --follow exclude each other: a ledger has one writer']);
    }
    if (feed === undefined) {
      const options = { settings: chosen, log: createLog(chosen, STANDARD_OUTPUT), signal };
      if (follow === undefined) return runService(options);
      checkFeedSettings(chosen);
      const openFeed = async () => {
        // Loaded on first use, because only a service with --follow needs the follower's modules.
        const { openFollowFeed } = await import('../../upstream/follower/open-follow-feed.ts');
        return openFollowFeed(follow, chosen, options.log);
      };
      return runFollowingService({ ...options, openFeed });
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
