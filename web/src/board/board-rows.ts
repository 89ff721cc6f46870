/** Stores the newest answers about each watched account, and whether the answers are current. */

import { totalsOf } from '../figures/all-dexes.ts';
import type { Answer, Delegation, States } from '../figures/answers.ts';
import { type BoardFigures, boardFiguresOf } from '../figures/board-figures.ts';
import { DayKeeper } from '../history/day-keeper.ts';
import type { DayStart } from '../history/day-start.ts';
import { accountAgeMs, ledgerAgeMs, ledgerNow } from '../view/selectors.ts';
import type { View } from '../view/store.ts';

/** The state of a row. The object is replaced whenever something about the account changes. */
export interface RowState {
  readonly account: Answer<States> | undefined;
  readonly stakes: Answer<readonly Delegation[]> | undefined;
  /** The reason why there is no newer answer; empty if nothing is wrong. */
  readonly problem: string;
  /** True while the account's states are pushed. A pushed state has the age of the ledger. */
  readonly isPushed: boolean;
  /**
   * The time by performance.now() at which the answer was current; used while push does not work.
   */
  readonly freshMs: number;
  readonly dayStart: DayStart | undefined;
}

/** The maximum time until every pushed state of a block has arrived. */
const PUSH_MS_MAX = 2_000;
/** A countdown shows seconds if less time than this is left. */
const COUNTDOWN_MS = 3_600_000;
const MINUTE_MS = 60_000;

export class BoardRows {
  readonly #rows = new Map<string, RowState>();
  readonly #figures = new WeakMap<States, BoardFigures>();
  readonly #days = new DayKeeper(() => this.#noteDays());
  readonly #changed: (user: string) => void;
  #minute = 0;

  /** `changed` is called with each account that has changed. */
  constructor(changed: (user: string) => void) {
    this.#changed = changed;
  }

  get(user: string): RowState | undefined {
    return this.#rows.get(user);
  }

  get users(): readonly string[] {
    return [...this.#rows.keys()];
  }

  /** Starts to watch new accounts, and forgets the accounts that are no longer watched. */
  setUsers(users: readonly string[]): void {
    const wanted = new Set(users);
    for (const user of this.#rows.keys()) if (!wanted.has(user)) this.#rows.delete(user);
    for (const user of users) if (!this.#rows.has(user)) this.#rows.set(user, createRow());
  }

  /** Forgets all answers, because they belong to another key. */
  clear(): void {
    for (const user of this.#rows.keys()) this.#set(user, createRow());
  }

  /** Forgets the value of each account at the start of the day. */
  forgetDays(): void {
    this.#days.forget();
  }

  noteAccount(user: string, account: Answer<States>, change: Partial<RowState>): void {
    const row = this.#rows.get(user);
    if (row === undefined) return;
    const dayStart = this.#days.note(user, totalsOf(account.value).accountValue, account.time);
    this.#set(user, { ...row, account, problem: '', dayStart, ...change });
  }

  change(user: string, change: Partial<RowState>): void {
    const row = this.#rows.get(user);
    if (row === undefined) return;
    if (change.isPushed === false) this.#days.interrupt(user);
    this.#set(user, { ...row, ...change });
  }

  /** Call this every second: days, ages and countdowns change while the figures stay the same. */
  tick(view: View): void {
    const { freshness, link } = view;
    if (freshness === undefined) return;
    if (freshness.ledger !== '') this.#days.setLedger(freshness.ledger);
    if (link.state === 'live') this.#noteDays(freshness.time - PUSH_MS_MAX);
    const nowMs = ledgerNow(view);
    const minute = Math.floor(nowMs / MINUTE_MS);
    for (const [user, row] of this.#rows) {
      if (minute !== this.#minute || isMoving(row, nowMs)) this.#changed(user);
    }
    this.#minute = minute;
  }

  #noteDays(timeMs = 0): void {
    for (const [user, row] of this.#rows) {
      const { account, isPushed } = row;
      if (account === undefined || !(isPushed || timeMs === 0)) continue;
      const value = totalsOf(account.value).accountValue;
      const dayStart = this.#days.note(user, value, Math.max(timeMs, account.time));
      if (dayStart !== row.dayStart) this.#set(user, { ...row, dayStart });
    }
  }

  #set(user: string, row: RowState): void {
    this.#rows.set(user, row);
    this.#changed(user);
  }

  /**
   * Returns the figures of an account, which are computed on the first read of each answer; returns
   * undefined if there is no answer.
   */
  figuresOf(user: string): BoardFigures | undefined {
    const states = this.#rows.get(user)?.account?.value;
    if (states === undefined) return undefined;
    const known = this.#figures.get(states);
    if (known !== undefined) return known;
    const figures = boardFiguresOf(states);
    this.#figures.set(states, figures);
    return figures;
  }

  /**
   * Returns the age of the account's data. Before the first answer, the age is the time since the
   * page started to watch the account.
   */
  ageMsOf(user: string, view: View): number {
    const { account, isPushed, freshMs } = this.#rows.get(user) ?? createRow();
    const isFollowed = isPushed && account !== undefined;
    const ageMs = isFollowed ? ledgerAgeMs(view) : performance.now() - freshMs;
    return Math.max(ageMs, (account && accountAgeMs(view, account)) ?? 0);
  }
}

/** Returns true if the row shows seconds. */
function isMoving({ isPushed, stakes }: RowState, nowMs: number): boolean {
  if (!isPushed) return true;
  return (stakes?.value ?? []).some(({ lockedUntilTimestamp }) => {
    const leftMs = lockedUntilTimestamp - nowMs;
    return leftMs > -MINUTE_MS && leftMs < COUNTDOWN_MS;
  });
}

function createRow(): RowState {
  return {
    account: undefined,
    stakes: undefined,
    problem: '',
    isPushed: false,
    freshMs: performance.now(),
    dayStart: undefined,
  };
}
