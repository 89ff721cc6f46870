/** Stores every value of the page, says who may write it, and decides when the page is drawn again. */

import type { Alarm } from '../figures/alarms.ts';
import type { Answer, Auction, Delegation, Health, Question, States } from '../figures/answers.ts';
import { WORST_FIRST } from '../figures/board-sort.ts';
import type { MarketTerms } from '../figures/margin-terms.ts';
import type { Move } from '../figures/what-if.ts';
import { type ArchiveSeries, FIRST_SPAN, type TimeSpan } from '../history/archive-series.ts';
import { RANGES, ValueHistory } from '../history/value-history.ts';
import type { Refusal } from '../service/service.ts';
import type { AddressBook } from './address-book.ts';
import { loadBook, loadExamples, loadKey, loadPace, loadRecent } from './storage.ts';
import type { UrlState } from './url-state.ts';

/** The question of a panel, and the service's answer. */
export interface Panel<T> {
  /** The question of the panel; undefined while the page has nothing to ask. */
  readonly question: Question | undefined;
  /** The newest answer; undefined before the first one. */
  readonly answer: Answer<T> | undefined;
  /** The reason why the last request failed; the answer that is shown is then stale. */
  readonly refusal: Refusal | undefined;
}

export interface Dex {
  readonly name: string;
  readonly fullName: string;
}

/**
 * `connecting`: there is no response yet. `stale`: the service responds, but its ledger is stale.
 */
export type LinkState = 'connecting' | 'live' | 'stale' | 'offline';

interface Link {
  readonly state: LinkState;
  /** Says what is wrong, in the words of the service if the service sent any. */
  readonly message: string;
  /** True if the push connection is open. */
  readonly isPush: boolean;
}

interface Freshness extends Health {
  /**
   * The time of the response by performance.now(), because the wall clock of the browser may be
   * wrong.
   */
  readonly heardMs: number;
}

/** The permission to show alarms as notifications. `ask`: the person has not decided yet. */
export type NoticeState = 'unsupported' | 'ask' | 'granted' | 'denied';

/** The alarms by address, without accounts that have no alarm. */
export type Alarms = ReadonlyMap<string, readonly Alarm[]>;

/** Values that survive a reload: storage.ts saves them in the browser. */
interface SavedValues {
  /** The endpoint key; empty before the person enters one. */
  readonly key: string;
  /** The addresses of the link with the key. */
  readonly examples: readonly string[];
  /** Addresses that were shown, newest first. */
  readonly recent: readonly string[];
  /** Labels, limits and the accounts of the board. */
  readonly book: AddressBook;
  /** Time between two draws of new figures. */
  readonly paceMs: number;
}

/** Values that a reload resets. */
interface MomentaryValues {
  /** The part of the archive chart that is shown; undefined for the whole span. */
  readonly zoom: TimeSpan | undefined;
  /** The move of marks in "What if"; undefined while "What if" is closed. */
  readonly whatIf: Move | undefined;
  /** Says what the page has just done for the person, such as "Copied …"; empty after a while. */
  readonly notice: string;
  /** The permission for notifications. */
  readonly notices: NoticeState;
}

/** The values that the person chooses. Any action may write these values. */
export type ChosenValues = UrlState & SavedValues & MomentaryValues;

/**
 * The values that the service has sent, and values computed from them. Only feed/live-data.ts writes these
 * values.
 */
export interface LiveValues {
  /**
   * The reason why the key does not work, in the words of the service; empty if nothing is wrong.
   */
  readonly keyProblem: string;
  /** All dexes, with their full names. */
  readonly dexes: readonly Dex[];
  /** The account on all dexes, even if only one dex is shown. */
  readonly account: Panel<States>;
  /** The delegations of the account. */
  readonly stakes: Panel<readonly Delegation[]>;
  /** The deployment auction; its answer is null before the first auction. */
  readonly auction: Panel<Auction | null>;
  /** The connection to the service. */
  readonly link: Link;
  /** The last /health, or a newer pushed state; undefined before the first response. */
  readonly freshness: Freshness | undefined;
  /** The account values that the page has seen. The chart shows them if there is no archive. */
  readonly history: ValueHistory;
  /** Incremented with every new point of the history. */
  readonly historyVersion: number;
  /** The series that the chart shows if there is an archive. */
  readonly archiveSeries: ArchiveSeries | undefined;
  /** The reason why the archive did not answer. */
  readonly archiveRefusal: Refusal | undefined;
  /** Margin terms by coin; undefined before "What if" asks for them. */
  readonly terms: ReadonlyMap<string, MarketTerms> | undefined;
  /** The reason why the margin terms are not known. */
  readonly termsRefusal: Refusal | undefined;
  /** The limits that are crossed now. */
  readonly alarms: Alarms;
}

/** All values in one immutable object, which every change replaces. */
export type View = ChosenValues & LiveValues;

export const FIRST_DEX: Dex = { name: '', fullName: 'first dex' };
export const EMPTY_PANEL = { question: undefined, answer: undefined, refusal: undefined };

const createUrlState = (): UrlState => ({
  ...{ isBoard: false, boardSort: WORST_FIRST },
  ...{ user: '', dex: undefined, at: undefined, sort: undefined },
  ...{ range: RANGES[0].name, span: FIRST_SPAN },
});

const loadSaved = (): SavedValues => ({
  key: loadKey(),
  examples: loadExamples(),
  recent: loadRecent(),
  book: loadBook(),
  paceMs: loadPace(),
});

const createMomentary = (): MomentaryValues => ({
  zoom: undefined,
  whatIf: undefined,
  notice: '',
  notices: 'unsupported',
});

const createLive = (): LiveValues => ({
  keyProblem: '',
  dexes: [FIRST_DEX],
  account: EMPTY_PANEL,
  stakes: EMPTY_PANEL,
  auction: EMPTY_PANEL,
  link: { state: 'connecting', message: '', isPush: false },
  freshness: undefined,
  history: new ValueHistory(),
  historyVersion: 0,
  archiveSeries: undefined,
  archiveRefusal: undefined,
  terms: undefined,
  termsRefusal: undefined,
  alarms: new Map(),
});

/** Drawing takes at most a sixth of the time, so that a slow machine stays responsive. */
const REST_PER_DRAW = 6;

export class Store {
  #view: View = { ...createUrlState(), ...loadSaved(), ...createMomentary(), ...createLive() };
  readonly #draw: (view: View) => void;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #isScheduled = false;
  #drawnMs = 0;
  /** The times that the last two draws took. */
  #drawMs: readonly [last: number, before: number] = [0, 0];

  /** `draw` is called only while the page is visible. */
  constructor(draw: (view: View) => void) {
    this.#draw = draw;
    document.addEventListener('visibilitychange', () => this.set({}));
  }

  get view(): View {
    return this.#view;
  }

  /** Changes what the person has chosen, and draws at once. */
  set(change: Partial<ChosenValues>): void {
    this.#view = { ...this.#view, ...change };
    this.#drawSoon();
  }

  /** Only LiveData calls this. Draws at once, or at the pace that the person chose. */
  setLive(change: Partial<LiveValues>, when: 'now' | 'paced'): void {
    this.#view = { ...this.#view, ...change };
    if (when === 'now') this.#drawSoon();
    else this.drawPaced();
  }

  /** Draws in a microtask, together with other changes that are made at the same time. */
  #drawSoon(): void {
    if (this.#isScheduled || document.hidden) return;
    this.#isScheduled = true;
    queueMicrotask(() => this.#drawNow());
  }

  /** Draws at the pace that the person chose, in an animation frame. */
  drawPaced(): void {
    if (this.#isScheduled || this.#timer !== undefined || document.hidden) return;
    // The faster of the last two draws counts, because one slow draw, such as the first draw of a
    // long table, says nothing about the next draw.
    const pauseMs = Math.max(this.#view.paceMs, Math.min(...this.#drawMs) * REST_PER_DRAW);
    const sinceMs = performance.now() - this.#drawnMs;
    this.#timer = setTimeout(() => requestAnimationFrame(() => this.#drawNow()), pauseMs - sinceMs);
  }

  #drawNow(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#isScheduled = false;
    if (document.hidden) return;
    this.#drawnMs = performance.now();
    this.#draw(this.#view);
    this.#drawMs = [performance.now() - this.#drawnMs, this.#drawMs[0]];
  }
}
