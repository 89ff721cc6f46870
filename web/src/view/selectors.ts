/** Values computed from the store: whether figures are current, and how old they are. */

import type { Answer } from '../figures/answers.ts';
import type { Panel, View } from './store.ts';

/** Returns true if the figures of a panel are current. */
export function isCurrent({ link, keyProblem, at }: View, panel: Panel<unknown>): boolean {
  // Past figures do not age. They are current as soon as the answer of their height has come.
  if (at !== undefined) return panel.answer?.height === at;
  return link.state === 'live' && keyProblem === '' && panel.refusal === undefined;
}

/**
 * Returns the age of the ledger's time, by the clock of the service; returns 0 if the ledger's time
 * is ahead of that clock.
 */
export function ledgerAgeMs({ freshness }: View): number {
  if (freshness === undefined) return 0;
  return Math.max(0, freshness.lagMs + performance.now() - freshness.heardMs);
}

/**
 * Returns the time of the past block that is shown; returns undefined before the first answer about
 * it.
 */
export function pastTime({ at, account, stakes, auction }: View): number | undefined {
  const answers = [account.answer, stakes.answer, auction.answer];
  return answers.find((answer) => answer?.height === at)?.time;
}

/** Returns the dexes whose figures are shown, in the order of the account's answer. */
export function dexesShown({ account, dex }: View): readonly string[] {
  return dex === undefined ? (account.answer?.value.map(([name]) => name) ?? []) : [dex];
}

/** The share of the maximum age from which the page warns that the ledger may become stale. */
const AGING_SHARE = 0.5;

export function isAging(view: View): boolean {
  const { link, freshness } = view;
  if (link.state !== 'live' || freshness === undefined || freshness.maxAgeMs === 0) return false;
  return ledgerAgeMs(view) > freshness.maxAgeMs * AGING_SHARE;
}

/** The maximum time from a block to the arrival of its states, in addition to the pace. */
const PUSH_MS_MAX = 2_000;

/** Returns the time within which every changed state has been pushed, in milliseconds. */
export function pushedWithinMs({ paceMs }: View): number {
  return paceMs + PUSH_MS_MAX;
}

/**
 * Returns true if the answer is old because nothing has changed. The service pushes nothing while
 * nothing changes, so an answer that is much older than the ledger is unchanged.
 */
export function isUnchanged(view: View, { height, time }: Answer): boolean {
  const { link, freshness, at } = view;
  if (at !== undefined || link.state !== 'live' || !link.isPush || freshness === undefined)
    return false;
  return height !== undefined && freshness.time - time > pushedWithinMs(view);
}

/**
 * Returns true if an answer is older than the shown answer. This happens because the service has
 * several workers, which may be a block apart. A shown height that is ahead of /health belongs to a
 * ledger that was replaced, so no answer counts as older.
 */
export function isOlder({ freshness }: View, answer: Answer, shown: Answer | undefined): boolean {
  if (shown === undefined || freshness === undefined) return false;
  if (answer.height !== undefined && shown.height !== undefined) {
    return answer.height < shown.height && freshness.height >= shown.height;
  }
  return answer.time < shown.time && freshness.time >= shown.time;
}

/**
 * Returns the time since the account was read from the exchange; returns undefined on a ledger that
 * follows no exchange, and for the past.
 */
export function accountAgeMs(view: View, { accountTime }: Answer): number | undefined {
  const { freshness } = view;
  if (accountTime === undefined || freshness === undefined || view.at !== undefined) {
    return undefined;
  }
  return Math.max(0, ledgerAgeMs(view) + freshness.time - accountTime);
}

/**
 * Returns the estimated present time of the ledger, which advances only while the link is live. If
 * the page shows the past, returns the time of the block that is shown.
 */
export function ledgerNow(view: View): number {
  const { link, freshness, at } = view;
  if (at !== undefined) return pastTime(view) ?? view.account.answer?.time ?? 0;
  if (freshness === undefined) return 0;
  const sinceMs = link.state === 'live' ? performance.now() - freshness.heardMs : 0;
  return freshness.time + sinceMs;
}
