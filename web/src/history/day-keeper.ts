/** The start of the day of many accounts: loaded after a reload, and new at midnight. */

import { type DayStart, type KnownValue, startDay } from './day-start.ts';
import { forgetDayStarts, loadDayStarts, saveDayStarts } from './day-storage.ts';

const SAVE_MS = 2_000;

export class DayKeeper {
  readonly #loaded: () => void;
  /** An account has another history on another ledger; empty before the service was heard. */
  #ledger = '';
  #starts: Map<string, DayStart> | undefined;
  readonly #known = new Map<string, KnownValue>();
  readonly #unsaved = new Map<string, DayStart>();

  /** Calls back when the starts of an earlier visit have come. */
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

  /** Notes what an account is worth at a time; undefined until the stored starts are loaded. */
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

  /** Something may have been missed from here on. */
  interrupt(user: string): void {
    this.#known.delete(user);
  }

  /** Forgets all accounts, also in the browser's storage. */
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
