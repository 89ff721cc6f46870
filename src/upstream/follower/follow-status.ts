/**
 * Builds the follower's report: whether the upstream is healthy, the ages of the data, and the rest
 * of the budget.
 */

import type { FollowStatus } from '../channel/follower-client.ts';
import type { LeftOut } from '../client/push/left-out-subscriptions.ts';
import type { UpstreamHealth } from '../client/upstream.ts';
import type { WatchList } from './accounts/watch-list.ts';
import type { FollowAudit } from './follow-audit.ts';
import { describeLeftOut } from './push/left-out-report.ts';

/**
 * The maximum time without a message that has the exchange's time. The heartbeat asks for the time
 * every few seconds.
 */
const QUIET_MS_MAX = 15_000;
/** The maximum number of unusable elements in the report. A list may have thousands of them. */
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
  /**
   * The maximum time that the mark of a market without a position may have waited to be recorded.
   */
  readonly otherMarksMs: number | undefined;
  readonly marketsAgeMs: number | undefined;
  /** Elements of the upstream's lists that cannot be used. */
  readonly skipped: readonly string[];
  /** The reason why the ledger has no market, if it should have markets; otherwise undefined. */
  readonly marketsFault: string | undefined;
  /**
   * The time for which trades have not been received; 0 if they are received, or if the upstream
   * has no trades.
   */
  readonly unseenMs: number;
  readonly streamAgeMs: number | undefined;
  /** The time since the exchange last reported its time. */
  readonly quietMs: number | undefined;
  /**
   * The reason why the exchange has not reported its time, if a question for the time failed;
   * otherwise undefined.
   */
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

/**
 * Returns a text if accounts may have changed and were not read after the change, or if trades are
 * not received; otherwise returns undefined.
 */
function findMissed({ watchList, clockMs, exchangeTime, unseenMs }: StatusSources) {
  const now = { ms: clockMs, exchange: exchangeTime ?? 0 };
  const count = watchList.countWaiting(now, WAITING_MS_MAX);
  const waiting = `${count} accounts that may have changed are not read yet`;
  if (unseenMs <= WAITING_MS_MAX) return count === 0 ? undefined : waiting;
  const unseen = `trades have not been seen for ${Math.round(unseenMs / 1000)} s`;
  return count === 0 ? unseen : `${unseen}; ${waiting}`;
}

/**
 * Returns the problem for an upstream that was not asked yet. An earlier process may have spent the
 * whole budget.
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

/** Returns the ages of the accounts that have been read, in ascending order. */
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
