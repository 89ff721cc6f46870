/** Reads followed items, records them, and returns the outcome to waiting clients. */

import type { WireEvent } from '../../../events/event.ts';
import { accountTime } from '../../../state/partial-ledger.ts';
import type { StateView } from '../../../state/state.ts';
import type { ItemOutcome } from '../../channel/follower-client.ts';
import type { Clock } from '../../client/limits/clock.ts';
import type { AskOptions } from '../../client/upstream.ts';
import { UpstreamError } from '../../client/upstream-error.ts';
import type { AccountRows } from '../../dialect/account-answer.ts';
import {
  describeAccountChanges,
  findBooking,
  findDifferences,
  isExplainedByFunding,
} from '../../dialect/account-events.ts';
import type { ExchangeTime } from '../blocks/exchange-time.ts';
import type { PendingChanges } from '../blocks/pending-changes.ts';
import { outcomeOfFailure } from '../failure-outcomes.ts';
import type { FollowAudit } from '../follow-audit.ts';
import type { MarkKeeper } from '../markets/mark-keeper.ts';
import type { AccountReader, AccountResult } from './account-reader.ts';
import type { DelegationsReader } from './delegations-reader.ts';
import { isFundingBetween } from './funding-hours.ts';
import { recordedTime } from './restored-items.ts';
import { describeItem, type Watched, type WatchList } from './watch-list.ts';

/**
 * The time for which an answer that is not recorded is reused, if less than half of the budget is
 * left.
 */
const SHORTAGE_SHARED_MS = 15_000;
const SHORTAGE_SHARE = 0.5;
const OLDER = 'the answer is older than one that the exchange has given before';

export interface ItemReaderOptions {
  readonly ledger: StateView;
  readonly accounts: AccountReader;
  readonly delegations: DelegationsReader;
  readonly pending: PendingChanges;
  readonly watchList: WatchList;
  readonly marks: MarkKeeper;
  readonly time: ExchangeTime;
  readonly audit: FollowAudit;
  readonly clock: Clock;
  readonly budget: { readonly limit: number; readonly left: number };
  /**
   * The time for which an answer that is not recorded is reused for other clients, in milliseconds.
   */
  readonly sharedMs: number;
}

interface SharedAnswer {
  readonly outcome: ItemOutcome;
  readonly readMs: number;
  readonly untilMs: number;
}

export class ItemReader {
  readonly #options: ItemReaderOptions;
  /** Answers that are not recorded, by item. */
  readonly #shared = new Map<string, SharedAnswer>();

  constructor(options: ItemReaderOptions) {
    this.#options = options;
  }

  /**
   * Returns the upstream's answer if it was read within `maxAgeMs` and could not be recorded;
   * otherwise returns undefined.
   */
  findShared(watched: Watched, maxAgeMs = Number.POSITIVE_INFINITY): ItemOutcome | undefined {
    const shared = this.#shared.get(watched.key);
    if (shared === undefined) return undefined;
    const nowMs = this.#options.clock.nowMs();
    const isYoung = nowMs < shared.untilMs && nowMs - shared.readMs < maxAgeMs;
    return isYoung ? shared.outcome : undefined;
  }

  dropExpired(): void {
    const nowMs = this.#options.clock.nowMs();
    for (const [key, { untilMs }] of this.#shared) if (nowMs >= untilMs) this.#shared.delete(key);
  }

  /** Never rejects. */
  async read(watched: Watched, ask: AskOptions): Promise<ItemOutcome> {
    const { clock, watchList } = this.#options;
    watched.triedMs = clock.nowMs();
    try {
      return watched.item.kind === 'account'
        ? await this.#readAccount(watched, ask)
        : await this.#readDelegations(watched, ask);
    } catch (error) {
      watchList.noteFailed(watched);
      this.#logFailure(watched, error as Error);
      return outcomeOfFailure(error as Error);
    }
  }

  /** Logs one line for all items that are not read for the same reason. */
  #logFailure({ item }: Watched, error: Error): void {
    const { audit } = this.#options;
    if (!(error instanceof UpstreamError)) audit.warn(`a bug: ${error.stack}`);
    else audit.warnOnce(`${describeItem(item)} not read: ${error.message}`, error.message);
  }

  async #readAccount(watched: Watched, ask: AskOptions): Promise<ItemOutcome> {
    const { accounts } = this.#options;
    const { readTime: timeBefore } = watched;
    let result = await accounts.read(watched, ask);
    // If one address has several servers, one server may be slightly behind the others.
    if (isOlder(result, watched) && ask.priority === 'asked') {
      result = await accounts.read(watched, ask);
    }
    if (result.kind === 'checked') {
      return isOlder(result, watched)
        ? this.#dropOlder(watched, result.rows, timeBefore)
        : this.#record(watched, result.rows);
    }
    if (result.kind === 'failed') return this.#fail(watched, result.reason);
    return this.#passOn(watched, result);
  }

  async #passOn(
    watched: Watched,
    { answer, time, isUndecided }: Extract<AccountResult, { kind: 'unchecked' }>,
  ): Promise<ItemOutcome> {
    const { clock, pending, watchList } = this.#options;
    const outcome = { outcome: 'upstream', answer, time } as const;
    const readMs = clock.nowMs();
    this.#shared.set(watched.key, { outcome, readMs, untilMs: readMs + this.#sharedMs });
    if (isUndecided) {
      watchList.noteFailed(watched);
      return outcome;
    }
    watched.isUnrecorded = true;
    await pending.put(watched.key, (ledger) => describeOutdated(ledger, watched));
    return outcome;
  }

  get #sharedMs(): number {
    const { budget, sharedMs } = this.#options;
    const isShort = budget.left < budget.limit * SHORTAGE_SHARE;
    return isShort ? Math.max(sharedMs, SHORTAGE_SHARED_MS) : sharedMs;
  }

  /** Never rejects, because no caller waits for the promise. */
  async recordPushed(watched: Watched, rows: AccountRows): Promise<void> {
    try {
      if (rows.time < watched.readTime) this.#dropOlder(watched, rows);
      else await this.#record(watched, rows);
    } catch (error) {
      this.#logFailure(watched, error as Error);
    }
  }

  /**
   * Ignores an answer that is older than the recorded rows. The waiting client must not get these
   * rows as if they had just been read. It gets rows of the ledger only if another read has
   * recorded them in the meantime.
   */
  #dropOlder(watched: Watched, { time }: AccountRows, timeBefore?: number): ItemOutcome {
    const { ledger, watchList, audit } = this.#options;
    const { item, readTime } = watched;
    watchList.noteFailed(watched);
    audit.warnOnce(`${describeItem(item)}: ${OLDER}: time ${time} after ${readTime}`, OLDER);
    if (readTime === timeBefore) return { outcome: 'failed', reason: OLDER, isSent: true };
    return this.#describeRecorded(watched, ledger.height);
  }

  async #record(watched: Watched, rows: AccountRows): Promise<ItemOutcome> {
    const { ledger, pending, watchList, marks, clock } = this.#options;
    this.#noteSurprises(watched, rows);
    marks.takeAccountMarks(rows);
    const { address } = watched;
    const booking = findBooking(ledger, address, rows);
    const recorded = await pending.put(watched.key, (state) =>
      describeAccountChanges(state, address, rows),
    );
    if (!('height' in recorded)) return this.#fail(watched, recorded.refusal);
    const held = this.#describeRecorded(watched, recorded.height);
    if (held.outcome === 'recorded') {
      watched.coins = rows.positions.map(({ market }) => market.coin);
      watched.hasPositions = rows.positions.length > 0;
      watchList.noteFunding(watched, rows.time, booking, clock.nowMs());
      watched.isUnified = rows.collateral > 0;
      watchList.noteRead(watched, rows.time);
    }
    return held;
  }

  /**
   * Returns the recorded outcome, unless another read has found in the meantime that the account
   * cannot be recorded.
   */
  #describeRecorded(watched: Watched, height: number): ItemOutcome {
    if (recordedTime(this.#options.ledger, watched) > 0) return { outcome: 'recorded', height };
    return (
      this.findShared(watched) ?? this.#fail(watched, 'another answer about it does not check')
    );
  }

  async #readDelegations(watched: Watched, ask: AskOptions): Promise<ItemOutcome> {
    const { delegations, pending, time, watchList } = this.#options;
    // An answer has no time. It is at least as new as the latest time that was known before the
    // question was sent.
    const { latest } = time;
    const result = await delegations.read(watched, ask);
    if (result.kind === 'failed') return this.#fail(watched, result.reason);
    const recorded = await pending.put(watched.key, () => [result.event]);
    if (!('height' in recorded)) return this.#fail(watched, recorded.refusal);
    watchList.noteRead(watched, latest);
    return { outcome: 'recorded', height: recorded.height };
  }

  /** Returns the outcome of an answer that cannot be recorded. */
  #fail(watched: Watched, reason: string): ItemOutcome {
    const { watchList, audit } = this.#options;
    watchList.noteFailed(watched);
    const what = describeItem(watched.item);
    audit.warnOnce(`${what} not recorded: ${reason}`, `${what} ${reason}`);
    return { outcome: 'failed', reason, isSent: true };
  }

  #noteSurprises(watched: Watched, rows: AccountRows): void {
    const { ledger, audit } = this.#options;
    const { readTime, tradeTime, address, item } = watched;
    // After a trade, a change of any field is expected.
    if (readTime === 0 || tradeTime > readTime) return;
    const isFunded = isFundingBetween(readTime, rows.time);
    const unexplained = findDifferences(ledger, address, rows).filter(
      (field) => !(isFunded && isExplainedByFunding(field)),
    );
    audit.noteSurprises(describeItem(item), unexplained);
  }
}

/**
 * Returns the event that marks the ledger's rows as outdated. Its time 0 means that the rows were
 * never read.
 */
function describeOutdated(ledger: StateView, { item, address }: Watched): WireEvent[] {
  if (item.kind !== 'account') return [];
  const { user, dex } = item;
  const dexIndex = ledger.markets.findDex(dex);
  const isVoid = dexIndex === undefined || accountTime(ledger, address, dexIndex) === 0;
  return isVoid ? [] : [{ type: 'accountTime', user, dex, time: 0 }];
}

function isOlder(result: AccountResult, { readTime }: Watched): boolean {
  return result.kind === 'checked' && result.rows.time < readTime;
}
