/**
 * Counts and logs the differences between perpinfo and the exchange: figures that our rules do not
 * reproduce, and changes of accounts that no known event explains. The counts are by field.
 */

import type { Clock } from '../client/limits/clock.ts';
import type { UpstreamLog } from '../client/upstream.ts';
import { type DialectError, describeMismatch, type Mismatch } from '../dialect/dialect.ts';

/**
 * The maximum number of field names. The names come from our readers. The limit also holds if a
 * reader does not recognize an unknown name.
 */
const FIELDS_MAX = 200;
const OTHER_FIELD = 'other';
/** The maximum number of log lines a minute. Further lines are only counted. */
const LINES_MAX = 30;
const LINES_MS = 60_000;
/**
 * The time for which a mismatch of an account is only counted after the same mismatch was logged.
 */
const REPEAT_MS = 600_000;
/** The maximum number of logged lines that are remembered, to recognize repetitions. */
const LOGGED_MAX = 1_000;

/**
 * Counts and logs differences. It is also the log for all other lines that an upstream can cause,
 * so that one limit applies to all of them.
 */
export class FollowAudit implements UpstreamLog {
  readonly #clock: Clock;
  readonly #log: UpstreamLog;
  readonly #mismatches = new Map<string, number>();
  readonly #surprises = new Map<string, number>();
  /**
   * When a line was last logged: by account and field for a mismatch, and by the text that
   * identifies its subject for another line.
   */
  readonly #loggedMs = new Map<string, number>();
  #lines = 0;
  #suppressed = 0;
  #sinceMs = Number.NEGATIVE_INFINITY;
  #surprisesLeftOut = 0;
  #surpriseLoggedMs = Number.NEGATIVE_INFINITY;

  constructor(clock: Clock, log: UpstreamLog) {
    this.#clock = clock;
    this.#log = log;
  }

  get counters() {
    return {
      mismatches: Object.fromEntries(this.#mismatches),
      surprises: Object.fromEntries(this.#surprises),
    };
  }

  /**
   * Notes a figure of an answer that our rules do not reproduce from the rows of the same answer.
   */
  noteMismatch(subject: string, mismatch: Mismatch): void {
    this.countMismatch(mismatch);
    if (this.#isRepeated(`${subject} ${mismatch.field}`)) return;
    this.warn(`${subject}: not recorded, ${describeMismatch(mismatch)}`);
  }

  /** Notes the elements of a list that cannot be used. The other elements of the list are used. */
  noteOdd(subject: string, odd: readonly DialectError[]): void {
    for (const { mismatch, message } of odd) {
      this.countMismatch(mismatch);
      this.warnOnce(`${subject}: left out, ${message}`, `${subject} ${mismatch.field}`);
    }
  }

  /** Counts a mismatch as `noteMismatch` does, but does not log it: the caller logs it. */
  countMismatch({ field }: Mismatch): void {
    countField(this.#mismatches, field);
  }

  /**
   * Returns true if a line about the same subject was logged recently; otherwise notes that a line
   * is logged now.
   */
  #isRepeated(what: string): boolean {
    const nowMs = this.#clock.nowMs();
    const loggedMs = this.#loggedMs.get(what) ?? Number.NEGATIVE_INFINITY;
    if (nowMs - loggedMs < REPEAT_MS) return true;
    if (this.#loggedMs.size === LOGGED_MAX) this.#loggedMs.clear();
    this.#loggedMs.set(what, nowMs);
    return false;
  }

  /**
   * Notes changed fields of a known account, if no event that we know of explains the change. An exchange
   * without trades causes one such change after another, so one line a minute stands for all of them.
   */
  noteSurprises(subject: string, fields: readonly string[]): void {
    for (const field of fields) countField(this.#surprises, field);
    if (fields.length === 0) return;
    const nowMs = this.#clock.nowMs();
    if (nowMs - this.#surpriseLoggedMs < LINES_MS) {
      this.#surprisesLeftOut++;
      return;
    }
    const leftOut = this.#surprisesLeftOut;
    const others = leftOut === 0 ? '' : `; ${leftOut} more such changes since the last such line`;
    this.#surpriseLoggedMs = nowMs;
    this.#surprisesLeftOut = 0;
    this.#say('info', `${subject}: changed unseen: ${fields.join(', ')}${others}`);
  }

  /** Logs a line, unless a line about the same subject was logged recently. */
  warnOnce(message: string, about = message): void {
    if (!this.#isRepeated(about)) this.warn(message);
  }

  info(message: string): void {
    this.#say('info', message);
  }

  /** Logs a line, unless this minute already had too many lines. */
  warn(message: string): void {
    this.#say('warn', message);
  }

  #say(level: 'info' | 'warn', message: string): void {
    const nowMs = this.#clock.nowMs();
    if (nowMs - this.#sinceMs >= LINES_MS) {
      if (this.#suppressed > 0) this.#log.warn(`${this.#suppressed} lines like these left out`);
      this.#sinceMs = nowMs;
      this.#lines = 0;
      this.#suppressed = 0;
    }
    if (this.#lines < LINES_MAX) this.#log[level](message);
    else this.#suppressed++;
    this.#lines++;
  }
}

function countField(counters: Map<string, number>, field: string): void {
  const name = counters.has(field) || counters.size < FIELDS_MAX ? field : OTHER_FIELD;
  counters.set(name, (counters.get(name) ?? 0) + 1);
}
