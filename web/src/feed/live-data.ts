/**
 * The only class that stores the data that the service sends. Feeds call this class; nothing else
 * writes live values.
 */

import type { Answer, Health, Question } from '../figures/answers.ts';
import type { MarketTerms } from '../figures/margin-terms.ts';
import type { ArchiveSeries } from '../history/archive-series.ts';
import type { ValueHistory } from '../history/value-history.ts';
import type { Refusal } from '../service/service.ts';
import { isOlder } from '../view/selectors.ts';
import {
  type Alarms,
  type Dex,
  EMPTY_PANEL,
  type LinkState,
  type Store,
  type View,
} from '../view/store.ts';

export type PanelName = 'account' | 'stakes' | 'auction';

const NO_PANELS = { account: EMPTY_PANEL, stakes: EMPTY_PANEL, auction: EMPTY_PANEL };

export class LiveData {
  readonly #store: Store;

  constructor(store: Store) {
    this.#store = store;
  }

  get view(): View {
    return this.#store.view;
  }

  /** Clears the data that belongs to the last key. */
  setKeyUnproven(): void {
    this.#store.setLive({ keyProblem: '', ...NO_PANELS }, 'now');
  }

  /**
   * Reports that the key is refused. The figures stay, greyed out, while the page asks for another
   * key.
   */
  setKeyProblem(keyProblem: string): void {
    this.#store.setLive({ keyProblem }, 'now');
  }

  clearPanels(): void {
    this.#store.setLive(NO_PANELS, 'now');
  }

  /**
   * Sets the question of a panel. The panel's figures stay until `clearPanels`, or until an answer
   * comes.
   */
  setQuestion(name: PanelName, question: Question | undefined): void {
    const panel = { ...this.view[name], question, refusal: undefined };
    this.#store.setLive({ [name]: panel }, 'now');
  }

  clearPanel(name: PanelName): void {
    this.#store.setLive({ [name]: EMPTY_PANEL }, 'now');
  }

  /**
   * Returns true if the answer is dropped because a newer answer is shown. No answer about the past
   * is dropped.
   */
  isOlder(name: PanelName, answer: Answer): boolean {
    return this.view.at === undefined && isOlder(this.view, answer, this.view[name].answer);
  }

  setAnswer(name: PanelName, question: Question | undefined, answer: Answer): void {
    if (this.isOlder(name, answer)) return;
    const { at, [name]: shown } = this.view;
    // The first answer is shown at once, and so is each answer about the past.
    const isUrgent = shown.answer === undefined || at !== undefined;
    const panel = { question, answer, refusal: undefined };
    this.#store.setLive({ [name]: panel }, isUrgent ? 'now' : 'paced');
  }

  setRefusal(name: PanelName, refusal: Refusal): void {
    const { at, [name]: panel } = this.view;
    // Figures of another height would look like figures of the refused height.
    const shown = at === undefined ? panel : { ...panel, answer: undefined };
    this.#store.setLive({ [name]: { ...shown, refusal } }, 'now');
  }

  setPush(isPush: boolean): void {
    this.#store.setLive({ link: { ...this.view.link, isPush } }, 'now');
  }

  setLink(state: LinkState, message: string): void {
    const { link } = this.view;
    const when = state === link.state ? 'paced' : 'now';
    this.#store.setLive({ link: { ...link, state, message } }, when);
  }

  setHealth(health: Health, heardMs: number): void {
    this.#store.setLive({ freshness: { ...health, heardMs } }, 'paced');
  }

  /**
   * A pushed state proves freshness as /health does. Its age is computed with the service's clock
   * of the last /health. Returns true if the state is newer than the known height.
   */
  noteFresh({ height, time }: Answer): boolean {
    const { freshness } = this.view;
    if (freshness === undefined || height === undefined || height <= freshness.height) return false;
    const heardMs = performance.now();
    const serviceMs = freshness.time + freshness.lagMs + heardMs - freshness.heardMs;
    const lagMs = Math.max(0, serviceMs - time);
    this.#store.setLive({ freshness: { ...freshness, height, time, lagMs, heardMs } }, 'paced');
    return true;
  }

  setHistory(history: ValueHistory): void {
    this.#store.setLive({ history }, 'paced');
  }

  /** Call this when the history has new points. */
  redrawHistory(): void {
    this.#store.setLive({ historyVersion: this.view.historyVersion + 1 }, 'paced');
  }

  setDexes(dexes: readonly Dex[]): void {
    this.#store.setLive({ dexes }, 'now');
  }

  setArchiveSeries(archiveSeries: ArchiveSeries): void {
    this.#store.setLive({ archiveSeries, archiveRefusal: undefined }, 'now');
  }

  setArchiveRefusal(archiveRefusal: Refusal | undefined): void {
    if (archiveRefusal === this.view.archiveRefusal) return;
    this.#store.setLive({ archiveRefusal }, 'now');
  }

  setTerms(terms: ReadonlyMap<string, MarketTerms>): void {
    this.#store.setLive({ terms, termsRefusal: undefined }, 'now');
  }

  setTermsRefusal(termsRefusal: Refusal): void {
    this.#store.setLive({ termsRefusal }, 'now');
  }

  setAlarms(alarms: Alarms): void {
    this.#store.setLive({ alarms }, 'now');
  }
}
