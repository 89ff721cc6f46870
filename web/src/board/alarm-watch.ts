/** Checks the limits of all accounts, and reports each crossing once. */

import type { LiveData } from '../feed/live-data.ts';
import { type Alarm, judgeThresholds } from '../figures/alarms.ts';
import { nameOf } from '../view/address-book.ts';
import { loadRaised, type RaisedAlarms, saveRaised } from '../view/storage.ts';
import type { Alarms } from '../view/store.ts';
import type { BoardRows } from './board-rows.ts';

const LOOK_MS = 1_000;

/** An alarm that has just been raised. */
export interface NewAlarm {
  readonly user: string;
  readonly name: string;
  readonly words: string;
}

interface AlarmWatchOptions {
  readonly live: LiveData;
  readonly rows: BoardRows;
  /** Reads the newest message about an account, if it has not been read. */
  read(user: string): void;
  fired(alarms: readonly NewAlarm[]): void;
}

export class AlarmWatch {
  readonly #options: AlarmWatchOptions;
  #raised: RaisedAlarms = loadRaised();
  #lookedMs = Number.NEGATIVE_INFINITY;

  constructor(options: AlarmWatchOptions) {
    this.#options = options;
  }

  /** Call this with every message, because the timers of a hidden page may be a minute late. */
  look(): void {
    const nowMs = performance.now();
    if (nowMs - this.#lookedMs < LOOK_MS) return;
    this.#lookedMs = nowMs;
    this.#judgeAll();
  }

  #judgeAll(): void {
    const { live, fired } = this.#options;
    const { book } = live.view;
    const alarms = new Map<string, readonly Alarm[]>();
    const news: NewAlarm[] = [];
    for (const [user, { thresholds }] of book) {
      const raised = this.#raised.get(user) ?? [];
      const found = this.#judge(user);
      if (found.length > 0) alarms.set(user, found);
      const words = found.filter(({ name }) => thresholds[name] && !raised.includes(name));
      if (words.length === 0) continue;
      const said = words.map((alarm) => alarm.words).join('; ');
      news.push({ user, name: nameOf(book, user), words: said });
    }
    this.#keep(alarms);
    if (!areSame(alarms, live.view.alarms)) live.setAlarms(alarms);
    if (news.length > 0) fired(news);
  }

  #judge(user: string): Alarm[] {
    const { live, rows, read } = this.#options;
    const { key, book } = live.view;
    const { thresholds = {} } = book.get(user) ?? {};
    // Without a key, the page receives no figures to check.
    if (key === '' || rows.get(user) === undefined) return [];
    if (Object.keys(thresholds).length === 0) return [];
    read(user);
    const measured = { figures: rows.figuresOf(user), ageMs: rows.ageMsOf(user, live.view) };
    return judgeThresholds(thresholds, measured, this.#raised.get(user) ?? []);
  }

  #keep(alarms: Alarms): void {
    const raised = new Map(
      Array.from(alarms, ([user, found]) => [user, found.map(({ name }) => name)]),
    );
    const isChanged = String([...raised]) !== String([...this.#raised]);
    this.#raised = raised;
    if (isChanged) saveRaised(raised);
  }
}

function areSame(one: Alarms, other: Alarms): boolean {
  if (one.size !== other.size) return false;
  const textOf = (alarms: readonly Alarm[] = []) => alarms.map(({ mark }) => mark).join();
  return [...one].every(([user, alarms]) => textOf(alarms) === textOf(other.get(user)));
}
