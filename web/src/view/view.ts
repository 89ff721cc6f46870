/** Everything that the page shows, in one immutable object. */

import type { Alarm } from '../figures/alarms.ts';
import type { Answer, Auction, Delegation, Health, Question, States } from '../figures/answers.ts';
import type { BoardSort } from '../figures/board-sort.ts';
import type { MarginTerms } from '../figures/margin-terms.ts';
import type { Sort } from '../figures/position-figures.ts';
import type { Move } from '../figures/what-if.ts';
import type { ArchiveSeries, SpanName, TimeSpan } from '../history/archive-series.ts';
import type { RangeName, ValueHistory } from '../history/value-history.ts';
import type { Refusal } from '../service/service.ts';
import type { AddressBook } from './address-book.ts';

export interface Panel<T> {
  readonly question: Question | undefined;
  readonly answer: Answer<T> | undefined;
  /** Why the last request failed; the answer shown is then stale. */
  readonly refusal: Refusal | undefined;
}

export interface Dex {
  readonly name: string;
  readonly fullName: string;
}

/** connecting: no response yet. stopped: the service responds, but its ledger is stale. */
export type LinkState = 'connecting' | 'live' | 'stopped' | 'offline';

interface Link {
  readonly state: LinkState;
  /** What is wrong, in the service's words where it has any. */
  readonly message: string;
  readonly isPush: boolean;
}

interface Freshness extends Health {
  /** performance.now() at the response: the browser's wall clock may be wrong. */
  readonly heardMs: number;
}

/** Whether alarms are shown by the system: ask means that nobody has decided yet. */
export type NoticeState = 'unsupported' | 'ask' | 'granted' | 'denied';

/** By address, without those that have none. */
export type Alarms = ReadonlyMap<string, readonly Alarm[]>;

export interface View {
  readonly key: string;
  /** Why the key does not work, in the service's words. */
  readonly keyProblem: string;
  readonly user: string;
  /** The only dex that is shown; undefined for all. */
  readonly dex: string | undefined;
  readonly dexes: readonly Dex[];
  readonly examples: readonly string[];
  readonly recent: readonly string[];
  /** On all dexes, whichever are shown. */
  readonly account: Panel<States>;
  readonly stakes: Panel<readonly Delegation[]>;
  readonly auction: Panel<Auction | null>;
  readonly link: Link;
  readonly freshness: Freshness | undefined;
  readonly history: ValueHistory;
  /** Incremented with every new point. */
  readonly historyVersion: number;
  readonly range: RangeName;
  /** The height that is shown, if it is not the present. */
  readonly at: number | undefined;
  /** Where there is an archive: how far back the chart goes, the part of it that is shown, and the rows. */
  readonly span: SpanName;
  readonly zoom: TimeSpan | undefined;
  readonly archiveSeries: ArchiveSeries | undefined;
  readonly archiveRefusal: Refusal | undefined;
  /** Of the positions; undefined for the endpoint's order. */
  readonly sort: Sort | undefined;
  /** What was last done for the person, such as "Copied …"; empty after a while. */
  readonly notice: string;
  /** What is supposed of the marks; undefined while nobody asks. */
  readonly whatIf: Move | undefined;
  /** By coin; undefined before they were asked for. */
  readonly terms: ReadonlyMap<string, MarginTerms> | undefined;
  readonly termsRefusal: Refusal | undefined;
  /** The board is shown instead of the account. */
  readonly isBoard: boolean;
  readonly boardSort: BoardSort;
  readonly book: AddressBook;
  readonly alarms: Alarms;
  readonly notices: NoticeState;
  /** Time between two draws of what the service brings. */
  readonly paceMs: number;
}

export const FIRST_DEX: Dex = { name: '', fullName: 'first dex' };
export const EMPTY_PANEL = { question: undefined, answer: undefined, refusal: undefined };

/** Whether what a panel shows is current. */
export function isCurrent({ link, keyProblem, at }: View, panel: Panel<unknown>): boolean {
  // The past does not age: it is current once its answer is there.
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

/** Before a ledger is too old it is getting old: from half of the limit on. */
const AGING_SHARE = 0.5;

export function isAging(view: View): boolean {
  const { link, freshness } = view;
  if (link.state !== 'live' || freshness === undefined || freshness.maxAgeMs === 0) return false;
  return ledgerAgeMs(view) > freshness.maxAgeMs * AGING_SHARE;
}

/** How much later than its block a state may arrive, beside the pace. */
const PUSH_MS_MAX = 2_000;

/** Within this time a state that has changed has surely been pushed. */
export function pushedWithinMs({ paceMs }: View): number {
  return paceMs + PUSH_MS_MAX;
}

/** Nothing is pushed while nothing changes: an answer so much older than the ledger is unchanged. */
export function isUnchanged(view: View, { height, time }: Answer): boolean {
  const { link, freshness, at } = view;
  if (at !== undefined || link.state !== 'live' || !link.isPush || freshness === undefined)
    return false;
  return height !== undefined && freshness.time - time > pushedWithinMs(view);
}

/** Since an account was read from the exchange; undefined on a ledger that follows none. */
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
