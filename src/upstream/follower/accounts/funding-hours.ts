/**
 * Decides when accounts are read for the funding of a full hour. The exchange books the funding
 * some seconds after the hour, at a time that it does not announce. At first, only a few accounts
 * are read. When one of them shows the funding, all accounts are read.
 */

import { backoffMs } from '../../../timing/backoff.ts';
import type { Booking } from '../../dialect/account-events.ts';

const HOUR_MS = 3_600_000;
/** Before this time after the hour, no answer shows the funding. */
const FIRST_LOOK_MS = 500;
/** If no account has shown the funding by this time after the hour, every account is read. */
const UNBOOKED_MS = 20_000;
/**
 * From this time after the hour, an answer includes the hour's funding, even if no figure shows it.
 */
const BOOKED_MS = 60_000;
/**
 * The maximum number of accounts that are read in each interval to find out whether the funding is
 * booked.
 */
const LOOKS = 4;
const LOOK_INTERVAL_MS = 400;
/**
 * The delays of further reads if an account does not show the funding, although another account
 * shows it. Each delay is longer than the delay before.
 */
const RETRY = { firstMs: 1_000, maxMs: 1_024_000 };

/** The values of an account that `FundingHours` reads and changes. */
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
  /** The last hour whose funding appeared in an answer about any account. */
  #bookedHour = 0;
  /**
   * When an account first showed the funding of `#bookedHour`: by the exchange's clock and by our
   * clock.
   */
  #bookedTime = 0;
  #bookedMs = 0;
  #lookedMs = Number.NEGATIVE_INFINITY;
  #looksLeft = 0;
  /**
   * By account: the number of reads after the last hour that did not show the funding of all
   * positions.
   */
  readonly #looks = new WeakMap<Funded, Looks>();

  /** Allows reads of a few accounts, to find out whether the funding is booked. */
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
   * Returns since when the hour's funding is known to be booked, if the account was not read after
   * it was booked; otherwise returns undefined.
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

  /** Notes that the account was read. `time` is the exchange's time of the answer. */
  note(
    watched: Funded,
    { time, booking }: { readonly time: number; readonly booking: Booking },
    nowMs: number,
  ): void {
    const hour = hourOf(time);
    const fundedHour = fundedHourOf(watched);
    if (fundedHour >= hour) return;
    // If the recorded rows do not include the funding of the previous hour, the answer may show
    // only that funding, and not the funding of this hour.
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

/** Returns the last hour whose funding the account's rows include. */
function fundedHourOf({ fundedHour, readTime }: Funded): number {
  return Math.max(fundedHour, hourOf(readTime - BOOKED_MS));
}

/**
 * Returns true if the funding of an hour may have been booked after the first time and until the
 * second time.
 */
export function isFundingBetween(first: number, second: number): boolean {
  return hourOf(first - BOOKED_MS) < hourOf(second);
}
