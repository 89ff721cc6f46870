/**
 * Settings of earlier versions. perpinfo refuses each of them with the reason, so that nobody believes that the
 * value still has an effect.
 */

import { variableOf } from './setting.ts';

interface RemovedSetting {
  readonly flag: string;
  /** Says what perpinfo does instead, and why nobody needs to choose. */
  readonly reason: string;
}

export const REMOVED_SETTINGS: readonly RemovedSetting[] = [
  {
    flag: 'body-bytes-max',
    reason: 'perpinfo now accepts 65536 bytes, because the longest valid question is shorter',
  },
  {
    flag: 'header-bytes-max',
    reason: 'perpinfo now accepts 16384 bytes, because clients and proxies send less',
  },
  {
    flag: 'header-timeout',
    reason: 'perpinfo now waits 10 s for headers, because a client sends all headers at once',
  },
  {
    flag: 'request-timeout',
    reason: 'perpinfo now waits 15 s for a request, because 64 KiB take less on any usable network',
  },
  {
    flag: 'push-backlog-max',
    reason: 'perpinfo now allows 4 MiB of unread bytes, because a client that reads leaves less',
  },
  {
    flag: 'push-stall-timeout',
    reason:
      'perpinfo now waits 20 s for a push client to read, because a client that lives reads sooner',
  },
  {
    flag: 'follow-forget',
    reason:
      'perpinfo now reads an account for 1 h after the last request, because asking again resumes that',
  },
  {
    flag: 'forward-keep',
    reason:
      'perpinfo now reuses a forwarded answer for 1 s, and for 15 s while the budget is short, because ' +
      'it knows best when the budget is short',
  },
  {
    flag: 'ledger-retry',
    reason:
      'perpinfo now retries an append for 30 s, because NATS needs less to elect a leader or to restart',
  },
  {
    flag: 'follow-keep-days',
    reason:
      'use --keep-days, because a follower keeps 7 days unless --keep-days says otherwise; 0 keeps all',
  },
  {
    flag: 'follow-interval',
    reason:
      'perpinfo now writes at most one block every 100 ms, because longer pauses save little disk space and ' +
      'make every answer older',
  },
  {
    flag: 'follow-marks',
    reason:
      'perpinfo now records the marks of markets without a followed position once a minute, because no ' +
      'account depends on them',
  },
  {
    flag: 'stop-timeout',
    reason: 'perpinfo now gives requests in flight 10 s to finish, because every answer takes less',
  },
  {
    flag: 'nats-wait',
    reason:
      'perpinfo now waits 60 s for NATS servers at its start, because servers that start at the same time ' +
      'need less',
  },
  {
    flag: 'push-subscriptions-max',
    reason:
      'perpinfo now allows a key 10 subscriptions for each connection of --push-connections-max, because ' +
      'the two limits go together',
  },
  {
    flag: 'interval',
    reason:
      'perpinfo simulate now has 10 s between two blocks, because more --blocks cover more time',
  },
];

/**
 * Returns the error about a removed flag or variable; returns undefined if `source` was not
 * removed.
 */
export function describeRemoved(source: string): string | undefined {
  const removed = REMOVED_SETTINGS.find(
    ({ flag }) => source === `--${flag}` || source === variableOf(flag),
  );
  return removed && `${source} was removed: ${removed.reason}`;
}

export function findRemovedVariables(environment: NodeJS.ProcessEnv): string[] {
  return REMOVED_SETTINGS.flatMap(({ flag }) => {
    const variable = variableOf(flag);
    return environment[variable] === undefined ? [] : [describeRemoved(variable) ?? []].flat();
  });
}
