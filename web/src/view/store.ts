/** The view of the page, and when it is drawn again. */

import { WORST_FIRST } from '../figures/board-sort.ts';
import { FIRST_SPAN } from '../history/archive-series.ts';
import { RANGES, ValueHistory } from '../history/value-history.ts';
import { loadBook, loadExamples, loadKey, loadPace, loadRecent } from './storage.ts';
import { EMPTY_PANEL, FIRST_DEX, type View } from './view.ts';

/** Drawing gets at most a sixth of the time, so that a slow machine stays responsive. */
const REST_PER_DRAW = 6;

export class Store {
  view: View = {
    key: loadKey(),
    keyProblem: '',
    user: '',
    dex: undefined,
    dexes: [FIRST_DEX],
    examples: loadExamples(),
    recent: loadRecent(),
    account: EMPTY_PANEL,
    stakes: EMPTY_PANEL,
    auction: EMPTY_PANEL,
    link: { state: 'connecting', message: '', isPush: false },
    freshness: undefined,
    history: new ValueHistory(),
    historyVersion: 0,
    range: RANGES[0].name,
    at: undefined,
    span: FIRST_SPAN,
    zoom: undefined,
    archiveSeries: undefined,
    archiveRefusal: undefined,
    sort: undefined,
    notice: '',
    whatIf: undefined,
    terms: undefined,
    termsRefusal: undefined,
    isBoard: false,
    boardSort: WORST_FIRST,
    book: loadBook(),
    alarms: new Map(),
    notices: 'unsupported',
    paceMs: loadPace(),
  };
  readonly #draw: (view: View) => void;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #isScheduled = false;
  #drawnMs = 0;
  /** How long the last two draws took. */
  #drawMs: readonly [last: number, before: number] = [0, 0];

  /** Draws while the page is visible. */
  constructor(draw: (view: View) => void) {
    this.#draw = draw;
    document.addEventListener('visibilitychange', () => this.set({}));
  }

  /** Shows a change at once, together with others that are made at the same time. */
  set(change: Partial<View>): void {
    this.view = { ...this.view, ...change };
    if (this.#isScheduled || document.hidden) return;
    this.#isScheduled = true;
    queueMicrotask(() => this.#drawNow());
  }

  /** Shows what the service has brought, as often as the person chose, and in one frame. */
  setThrottled(change: Partial<View>): void {
    this.view = { ...this.view, ...change };
    if (this.#isScheduled || this.#timer !== undefined || document.hidden) return;
    // One slow draw, such as the first of a long table, says nothing of the next.
    const pauseMs = Math.max(this.view.paceMs, Math.min(...this.#drawMs) * REST_PER_DRAW);
    const sinceMs = performance.now() - this.#drawnMs;
    this.#timer = setTimeout(() => requestAnimationFrame(() => this.#drawNow()), pauseMs - sinceMs);
  }

  #drawNow(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#isScheduled = false;
    if (document.hidden) return;
    this.#drawnMs = performance.now();
    this.#draw(this.view);
    this.#drawMs = [performance.now() - this.#drawnMs, this.#drawMs[0]];
  }
}
