/**
 * Stores the start of the day of many accounts. A start survives a reload of the page, and is
 * replaced at midnight.
 */

import { type DayStart, type KnownValue, startDay } from './day-start.ts';
import { forgetDayStarts, loadDayStarts, saveDayStarts } from './day-storage.ts';

const SAVE_MS = 2_000;

export class DayKeeper {
  readonly #loaded: () => void;
  /**
   * The ledger that the values are from, because an account has another history on another ledger;
   * empty before the first response of the service.
   */
  #ledger = '';
  #starts: Map<string, DayStart> | undefined;
  readonly #known = new Map<string, KnownValue>();
  readonly #unsaved = new Map<string, DayStart>();

  /** `loaded` is called when the starts of an earlier visit are loaded. */
  constructor(loaded: () => void) {
    this.#loaded = loaded;
    setInterval(() => this.#save(), SAVE_MS);
  }

  setLedger(ledger: string): void {
    if (ledger === this.#ledger) return;
    this.#save();
    this.#ledger = ledger;
    this.#starts = undefined;
    this.#known.clear();
    void loadDayStarts(ledger).then((starts) => {
      if (ledger !== this.#ledger) return;
      this.#starts = starts;
      this.#loaded();
    });
  }

  /**
   * Notes the value of an account at a time. Returns the start of the account's day; returns
   * undefined until the stored starts are loaded.
   */
  note(user: string, value: string, timeMs: number): DayStart | undefined {
    if (this.#starts === undefined) return undefined;
    const known = this.#starts.get(user);
    const start = startDay(known, this.#known.get(user), { value, timeMs });
    this.#known.set(user, { value, untilMs: timeMs });
    if (start !== known) {
      this.#starts.set(user, start);
      this.#unsaved.set(user, start);
    }
    return start;
  }

  /** Call this when the page may miss values of the account from now on. */
  interrupt(user: string): void {
    this.#known.delete(user);
  }

  /** Forgets the starts of all accounts, also in the browser's storage. */
  forget(): void {
    this.#starts?.clear();
    this.#known.clear();
    this.#unsaved.clear();
    void forgetDayStarts();
  }

  #save(): void {
    if (this.#unsaved.size === 0) return;
    void saveDayStarts(this.#ledger, new Map(this.#unsaved));
    this.#unsaved.clear();
  }
}
