/** Values that follow from the store: whether figures are current, and how old they are. */

import type { Answer } from '../figures/answers.ts';
import type { Panel, View } from './store.ts';

/** True if what a panel shows is current. */
export function isCurrent({ link, keyProblem, at }: View, panel: Panel<unknown>): boolean {
  // The past does not age: it is current as soon as its answer has come.
  if (at !== undefined) return panel.answer?.height === at;
  return link.state === 'live' && keyProblem === '' && panel.refusal === undefined;
}

/** Since the ledger's time, by the clock of the service; 0 if it is ahead of that clock. */
export function ledgerAgeMs({ freshness }: View): number {
  if (freshness === undefined) return 0;
  return Math.max(0, freshness.lagMs + performance.now() - freshness.heardMs);
}

/** The time of the block that is shown of the past; undefined before its first answer. */
export function pastTime({ at, account, stakes, auction }: View): number | undefined {
  const answers = [account.answer, stakes.answer, auction.answer];
  return answers.find((answer) => answer?.height === at)?.time;
}

/** The dexes whose figures are shown, as the account's answer has them. */
export function dexesShown({ account, dex }: View): readonly string[] {
  return dex === undefined ? (account.answer?.value.map(([name]) => name) ?? []) : [dex];
}

/** The page warns before a ledger is stale: from half of the maximum age on. */
const AGING_SHARE = 0.5;

export function isAging(view: View): boolean {
  const { link, freshness } = view;
  if (link.state !== 'live' || freshness === undefined || freshness.maxAgeMs === 0) return false;
  return ledgerAgeMs(view) > freshness.maxAgeMs * AGING_SHARE;
}

/** A state may arrive this much later than its block, in addition to the pace. */
const PUSH_MS_MAX = 2_000;

/** Within this time a state that has changed has surely been pushed. */
export function pushedWithinMs({ paceMs }: View): number {
  return paceMs + PUSH_MS_MAX;
}

/**
 * The service pushes nothing while nothing changes, so an answer that is much older than the ledger is
 * unchanged.
 */
export function isUnchanged(view: View, { height, time }: Answer): boolean {
  const { link, freshness, at } = view;
  if (at !== undefined || link.state !== 'live' || !link.isPush || freshness === undefined)
    return false;
  return height !== undefined && freshness.time - time > pushedWithinMs(view);
}

/**
 * True if an answer is older than the one that is shown: the service has several workers, which may be a
 * block apart. A shown height that is ahead of /health belongs to a ledger that was replaced.
 */
export function isOlder({ freshness }: View, answer: Answer, shown: Answer | undefined): boolean {
  if (shown === undefined || freshness === undefined) return false;
  if (answer.height !== undefined && shown.height !== undefined) {
    return answer.height < shown.height && freshness.height >= shown.height;
  }
  return answer.time < shown.time && freshness.time >= shown.time;
}

/** Since an account was read from the exchange; undefined on a ledger that follows no exchange. */
export function accountAgeMs(view: View, { accountTime }: Answer): number | undefined {
  const { freshness } = view;
  if (accountTime === undefined || freshness === undefined || view.at !== undefined) {
    return undefined;
  }
  return Math.max(0, ledgerAgeMs(view) + freshness.time - accountTime);
}

/** The estimated ledger time now; it advances only while the link is live. */
export function ledgerNow(view: View): number {
  const { link, freshness, at } = view;
  if (at !== undefined) return pastTime(view) ?? view.account.answer?.time ?? 0;
  if (freshness === undefined) return 0;
  const sinceMs = link.state === 'live' ? performance.now() - freshness.heardMs : 0;
  return freshness.time + sinceMs;
}
