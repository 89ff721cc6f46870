/** Finds, loads and saves the history of the account that is shown. */

import { forgetPoints, loadPoints, savePoints } from './history-storage.ts';
import { Histories, RANGES, ValueHistory } from './value-history.ts';

const SAVE_MS = 2_000;
/** The sign for all dexes. No dex has this name. */
const ALL_DEXES = '*';

export class HistoryKeeper {
  #histories = new Histories();
  readonly #loaded: () => void;
  /**
   * The ledger that the values are from, because an account has another history on another ledger;
   * undefined before the first response of the service.
   */
  #ledger: string | undefined;
  #account = '';
  #history = new ValueHistory();
  /** For each history: the time of the newest saved point of each range. */
  readonly #saved = new WeakMap<ValueHistory, number[]>();

  /** `loaded` is called when the points of an earlier visit are loaded. */
  constructor(loaded: () => void) {
    this.#loaded = loaded;
    setInterval(() => this.#save(), SAVE_MS);
  }

  get history(): ValueHistory {
    return this.#history;
  }

  /** Opens the history of a user's account on a dex; on all dexes if `dex` is undefined. */
  open(user: string, dex: string | undefined): ValueHistory {
    this.#save();
    this.#account = `${user.toLowerCase()} ${dex ?? ALL_DEXES}`;
    this.#history = this.#find();
    this.#history.interrupt();
    return this.#history;
  }

  /** Call this with the ledger that the service answers from. */
  setLedger(ledger: string): ValueHistory {
    if (ledger === this.#ledger) return this.#history;
    const isFirst = this.#ledger === undefined;
    this.#save();
    this.#ledger = ledger;
    if (isFirst) this.#load(this.#history);
    else this.#history = this.#find();
    return this.#history;
  }

  /** Drops all histories, including the histories of earlier visits. */
  forget(): ValueHistory {
    this.#histories = new Histories();
    this.#history = new ValueHistory();
    void forgetPoints();
    return this.#history;
  }

  get #name(): string {
    return `${this.#ledger} ${this.#account}`;
  }

  #find(): ValueHistory {
    const known = this.#histories.find(this.#name);
    if (known !== undefined) return known;
    const history = new ValueHistory();
    if (this.#ledger !== undefined) this.#load(history);
    return history;
  }

  #load(history: ValueHistory): void {
    this.#histories.set(this.#name, history);
    void loadPoints(this.#name).then((stored) => {
      history.restore(stored);
      this.#saved.set(
        history,
        RANGES.map((_, index) => stored[index]?.at(-1)?.time ?? 0),
      );
      this.#loaded();
    });
  }

  /** Saves the new points, except the last point of each range, which may still be replaced. */
  #save(): void {
    const saved = this.#saved.get(this.#history);
    if (saved === undefined) return;
    for (const [index, range] of RANGES.entries()) {
      const settled = this.#history.pointsOf(range.name).slice(0, -1);
      const unsaved = settled.filter(({ time }) => time > saved[index]);
      if (unsaved.length === 0) continue;
      saved[index] = unsaved[unsaved.length - 1].time;
      void savePoints(this.#name, range, unsaved);
    }
  }
}
