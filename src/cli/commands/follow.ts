/** `perpinfo follow`: writes a live exchange to a ledger, as the only writer of the ledger. */

import { FEED_SETTINGS } from '../../feed/settings.ts';
import { checkFeedSettings } from '../../feed/writer-options.ts';
import { SERVICE_WAIT } from '../../ledger/settings.ts';
import { createLog, STANDARD_OUTPUT } from '../../service/logging/log.ts';
import { runFollower } from '../../service/run-follower.ts';
import { LOG_SETTINGS } from '../../service/settings.ts';
import { openFollowFeed } from '../../upstream/follower/open-follow-feed.ts';
import { FOLLOW_SETTINGS, UPSTREAM_SETTINGS } from '../../upstream/settings.ts';
import type { Command } from '../command.ts';

const settings = { ...UPSTREAM_SETTINGS, ...FOLLOW_SETTINGS, ...FEED_SETTINGS, ...LOG_SETTINGS };

export const follow: Command<typeof settings> = {
  name: 'follow',
  summary:
    'Follows a live exchange: reads the accounts that clients ask for, and appends them to the ledger.',
  settings,
  details:
    'Serves several services that answer from one ledger: if a question is about an account that the\n' +
    'ledger does not have, the service asks this process for the account. On one machine, "perpinfo\n' +
    'serve --follow" does both. Creates the ledger if there is none. A ledger has one writer at a time.',
  example: 'perpinfo follow --ledger nats://127.0.0.1:4222/perps --upstream https://host',
  isService: true,
  async run({ settings: given, signal }) {
    const chosen = { ...given, ...SERVICE_WAIT };
    checkFeedSettings(chosen);
    const log = createLog(chosen, STANDARD_OUTPUT);
    const feed = await openFollowFeed(chosen.upstream, chosen, log);
    await runFollower({ settings: chosen, feed, log, signal });
  },
};
