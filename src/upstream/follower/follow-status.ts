/**
 * Builds the follower's report: whether the upstream is healthy, the ages of the data, and the
 * budget that is left.
 */

import type { FollowStatus } from '../channel/follower-client.ts';
import type { LeftOut } from '../client/push/left-out-subscriptions.ts';
import type { UpstreamHealth } from '../client/upstream.ts';
import type { WatchList } from './accounts/watch-list.ts';
import type { FollowAudit } from './follow-audit.ts';
import { describeLeftOut } from './push/left-out-report.ts';

/** The exchange's time arrives every few seconds, if only because the heartbeat asks for it. */
const QUIET_MS_MAX = 15_000;
/** Maximum number of unusable elements in the report. A list may have thousands of them. */
const SKIPPED_SHOWN = 10;

/**
 * If an account that may have changed is not read within this time, the follower is not healthy.
 */
const WAITING_MS_MAX = 3_000;

export interface StatusSources {
  readonly origin: string;
  readonly upstream: {
    readonly health: UpstreamHealth;
    readonly budget: { readonly limit: number; readonly left: number };
  };
  readonly watchList: WatchList;
  /** The time by our clock. */
  readonly clockMs: number;
  readonly audit: FollowAudit;
  /** Subscriptions that the upstream does not accept. */
  readonly leftOut: readonly LeftOut[];
  readonly marksAgeMs: number | undefined;
  /** How long the mark of a market without a position may have waited to be recorded. */
  readonly otherMarksMs: number | undefined;
  readonly marketsAgeMs: number | undefined;
  /** Elements of the upstream's lists that cannot be used. */
  readonly skipped: readonly string[];
  /** Why the ledger has no market, if it should have markets. */
  readonly marketsFault: string | undefined;
  /**
   * How long trades have not been received; 0 if they are received, or if the upstream has no
   * trades.
   */
  readonly unseenMs: number;
  readonly streamAgeMs: number | undefined;
  /** Time since the exchange last reported its time. */
  readonly quietMs: number | undefined;
  /** Why the exchange has not reported its time, if a question for the time failed. */
  readonly timeFailure: string | undefined;
  /** The estimate of the exchange's time. */
  readonly exchangeTime: number | undefined;
}

export function describeStatus(sources: StatusSources): FollowStatus {
  const { origin, upstream, watchList, audit } = sources;
  const reason = findProblem(sources);
  const { limit, left } = upstream.budget;
  const ages = listAges(watchList, sources.exchangeTime);
  return {
    upstream: origin,
    isHealthy: reason === undefined,
    reason: reason ?? '',
    ages: {
      marks: roundAge(sources.marksAgeMs),
      otherMarks: roundAge(otherMarksAge(sources)),
      markets: roundAge(sources.marketsAgeMs),
      stream: roundAge(sources.streamAgeMs),
      accountsMedian: roundAge(ages[Math.floor((ages.length - 1) / 2)]),
      accountsMax: roundAge(ages.at(-1)),
    },
    followed: watchList.size,
    budget: limit === Number.POSITIVE_INFINITY ? null : { limit, left },
    ...describeSkipped(sources.skipped),
    leftOut: describeLeftOut(sources.leftOut),
    counters: audit.counters,
  };
}

function describeSkipped(names: readonly string[]): Pick<FollowStatus, 'skipped'> {
  if (names.length === 0) return {};
  return { skipped: { count: names.length, first: names.slice(0, SKIPPED_SHOWN) } };
}

function findProblem(sources: StatusSources): string | undefined {
  const { upstream, marketsAgeMs, marketsFault, quietMs, timeFailure } = sources;
  const { isHealthy, reason } = upstream.health;
  if (!isHealthy) return reason ?? 'it does not answer';
  if (timeFailure !== undefined) return `its time is not known: ${timeFailure}`;
  if (quietMs === undefined) return reason ?? describeUnasked(upstream.budget);
  if (quietMs > QUIET_MS_MAX) {
    return reason ?? `it has not sent its time for ${Math.round(quietMs / 1000)} s`;
  }
  if (marketsAgeMs === undefined) return 'its markets have not been read yet';
  return marketsFault ?? findMissed(sources);
}

/** Why an account may have changed and was not read since. */
function findMissed({ watchList, clockMs, exchangeTime, unseenMs }: StatusSources) {
  const now = { ms: clockMs, exchange: exchangeTime ?? 0 };
  const count = watchList.countWaiting(now, WAITING_MS_MAX);
  const waiting = `${count} accounts that may have changed are not read yet`;
  if (unseenMs <= WAITING_MS_MAX) return count === 0 ? undefined : waiting;
  const unseen = `trades have not been seen for ${Math.round(unseenMs / 1000)} s`;
  return count === 0 ? unseen : `${unseen}; ${waiting}`;
}

/**
 * The reason if the upstream was not asked yet: an earlier process may have spent the whole budget.
 */
function describeUnasked({
  limit,
  left,
}: {
  readonly limit: number;
  readonly left: number;
}): string {
  const spent = limit === Number.POSITIVE_INFINITY ? '' : `; ${left} of ${limit} is left to spend`;
  return `it has not been asked yet${spent}`;
}

/** The ages of the accounts that have been read, ascending. */
function listAges(watchList: WatchList, exchangeTime: number | undefined): number[] {
  const ages: number[] = [];
  if (exchangeTime === undefined) return ages;
  for (const { item, readTime } of watchList) {
    if (item.kind === 'account' && readTime > 0) ages.push(Math.max(0, exchangeTime - readTime));
  }
  return ages.sort((first, second) => first - second);
}

function otherMarksAge({ marksAgeMs, otherMarksMs }: StatusSources): number | undefined {
  if (marksAgeMs === undefined || otherMarksMs === undefined) return undefined;
  return marksAgeMs + otherMarksMs;
}

function roundAge(ageMs: number | undefined): number | null {
  return ageMs === undefined ? null : Math.round(ageMs);
}
