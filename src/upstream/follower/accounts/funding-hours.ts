/**
 * Decides when accounts are read for the funding of a full hour. The exchange books the funding
 * some seconds after the hour, at a moment that it does not announce. A few accounts are read until
 * one of them shows the funding, then all accounts.
 */

import { backoffMs } from '../../../timing/backoff.ts';
import type { Booking } from '../../dialect/account-events.ts';

const HOUR_MS = 3_600_000;
/** No answer shows the funding earlier than this after the hour. */
const FIRST_LOOK_MS = 500;
/** If no account has shown the funding so long after the hour, every account is read. */
const UNBOOKED_MS = 20_000;
/** An answer so long after the hour includes its funding, even if no figure shows it. */
const BOOKED_MS = 60_000;
/**
 * Maximum number of accounts that are read in each interval to find out whether the funding is
 * booked.
 */
const LOOKS = 4;
const LOOK_INTERVAL_MS = 400;
/**
 * If an account does not show the funding although another account does, it is read again after
 * longer and longer delays.
 */
const RETRY = { firstMs: 1_000, maxMs: 1_024_000 };

/** The values of an account that this class reads and changes. */
interface Funded {
  readonly hasPositions: boolean;
  readonly readTime: number;
  readonly triedMs: number;
  fundedHour: number;
}

/** The time by our clock, and by the estimate of the exchange's clock. */
interface BothClocks {
  readonly ms: number;
  readonly exchange: number;
}

interface Looks {
  readonly hour: number;
  count: number;
}

export class FundingHours {
  /** The last hour whose funding an account has shown. */
  #bookedHour = 0;
  /** When an account first showed this funding: by the exchange's clock and by our clock. */
  #bookedTime = 0;
  #bookedMs = 0;
  #lookedMs = Number.NEGATIVE_INFINITY;
  #looksLeft = 0;
  /** How often an account was read after an hour and did not show the funding of all positions. */
  readonly #looks = new WeakMap<Funded, Looks>();

  /** Makes a few accounts due, to find out whether the funding is booked. */
  startLooking(now: BothClocks): void {
    this.#looksLeft = now.ms - this.#lookedMs >= LOOK_INTERVAL_MS ? LOOKS : 0;
  }

  isDue(watched: Funded, now: BothClocks): boolean {
    const hour = hourOf(now.exchange);
    if (!watched.hasPositions || fundedHourOf(watched) >= hour) return false;
    const sinceMs = now.exchange - hour * HOUR_MS;
    if (sinceMs < FIRST_LOOK_MS) return false;
    if (this.#bookedHour < hour && sinceMs < UNBOOKED_MS) return this.#takeLook(now);
    return now.ms - watched.triedMs >= backoffMs(this.#countLooks(watched, hour), RETRY);
  }

  #takeLook(now: BothClocks): boolean {
    if (this.#looksLeft === 0) return false;
    this.#looksLeft--;
    this.#lookedMs = now.ms;
    return true;
  }

  #countLooks(watched: Funded, hour: number): number {
    const looks = this.#looks.get(watched);
    return looks?.hour === hour ? looks.count : 0;
  }

  /**
   * Since when the funding is known to be booked while the account was not read; otherwise
   * undefined.
   */
  waitingSinceMs(watched: Funded, now: BothClocks): number | undefined {
    const hour = hourOf(now.exchange);
    const isWaiting =
      watched.hasPositions &&
      this.#bookedHour === hour &&
      watched.readTime < this.#bookedTime &&
      fundedHourOf(watched) < hour;
    return isWaiting ? this.#bookedMs : undefined;
  }

  /** The account was read at this time of the exchange. */
  note(
    watched: Funded,
    { time, booking }: { readonly time: number; readonly booking: Booking },
    nowMs: number,
  ): void {
    const hour = hourOf(time);
    const fundedHour = fundedHourOf(watched);
    if (fundedHour >= hour) return;
    // Rows that were read before the last hour may show the funding of the hours in between.
    const isShown = fundedHour === hour - 1 && (booking === 'all' || booking === 'some');
    if (isShown && this.#bookedHour < hour) {
      this.#bookedHour = hour;
      this.#bookedTime = time;
      this.#bookedMs = nowMs;
    }
    watched.fundedHour = isShown && booking === 'all' ? hour : hour - 1;
    const isKnownBooked = this.#bookedHour === hour;
    const count = isKnownBooked ? this.#countLooks(watched, hour) + 1 : 0;
    this.#looks.set(watched, { hour, count });
  }
}

function hourOf(time: number): number {
  return Math.floor(time / HOUR_MS);
}

/** The last hour whose funding the account's rows include. */
function fundedHourOf({ fundedHour, readTime }: Funded): number {
  return Math.max(fundedHour, hourOf(readTime - BOOKED_MS));
}

/** Whether an hour's funding may have been booked after the first time and until the second. */
export function isFundingBetween(first: number, second: number): boolean {
  return hourOf(first - BOOKED_MS) < hourOf(second);
}
