/**
 * Reads the messages that the upstream pushes: marks, trades of followed accounts, and complete
 * accounts.
 */

import { formatAddress } from '../../../exact/address.ts';
import type { StateView } from '../../../state/state.ts';
import type { Clock } from '../../client/limits/clock.ts';
import type { AccountRows } from '../../dialect/account-answer.ts';
import { readPushedAccounts } from '../../dialect/account-shape.ts';
import { DialectError } from '../../dialect/dialect.ts';
import { hasKnownRules, UNIFIED_MODE } from '../../dialect/spot-answer.ts';
import { readTrades, type TradeNotice } from '../../dialect/trade-message.ts';
import type { AccountJudge, CheckedAccount } from '../accounts/account-judge.ts';
import { isConfirmation } from '../accounts/confirmations.ts';
import type { ItemReader } from '../accounts/item-reader.ts';
import type { ModeReader } from '../accounts/mode-reader.ts';
import { describeItem, keyOf, type Watched, type WatchList } from '../accounts/watch-list.ts';
import type { ExchangeTime } from '../blocks/exchange-time.ts';
import type { PendingChanges } from '../blocks/pending-changes.ts';
import type { FollowAudit } from '../follow-audit.ts';
import type { MarkKeeper } from '../markets/mark-keeper.ts';
import type { TradeCoverage } from './trade-coverage.ts';

const ACCOUNT_CHANNELS: readonly string[] = ['clearinghouseState', 'allDexsClearinghouseState'];

export interface PushReaderOptions {
  readonly ledger: StateView;
  readonly watchList: WatchList;
  readonly pending: PendingChanges;
  readonly marks: MarkKeeper;
  readonly judge: AccountJudge;
  readonly modes: ModeReader;
  readonly items: ItemReader;
  readonly coverage: TradeCoverage;
  readonly time: ExchangeTime;
  readonly audit: FollowAudit;
  readonly clock: Clock;
}

export class PushReader {
  readonly #options: PushReaderOptions;

  constructor(options: PushReaderOptions) {
    this.#options = options;
  }

  take(channel: string, data: unknown): void {
    if (this.#options.marks.take(channel, data)) return;
    // The exchange's time is unknown only shortly after the start. Accounts that may have missed a
    // trade are read later.
    if (!this.#options.time.isKnown) return;
    if (channel === 'trades') this.#takeTrades(data);
    else if (ACCOUNT_CHANNELS.includes(channel)) this.#takeAccounts(channel, data);
  }

  #takeTrades(data: unknown): void {
    const { time, audit, pending, coverage } = this.#options;
    const read = readTrades(data);
    const odd = read instanceof DialectError ? read : read.odd;
    if (odd !== undefined) {
      audit.noteMismatch('trades', odd.mismatch);
      coverage.noteUnreadable();
    }
    const trades = read instanceof DialectError ? [] : read.trades;
    for (const trade of trades) {
      const fault = time.note(trade.time);
      if (fault === undefined) this.#noteTrade(trade);
      else audit.warnOnce(`trade of ${trade.coin}: ${fault}`, 'trade');
    }
    coverage.noteTrades(trades);
    pending.changed();
  }

  #noteTrade({ coin, time, users }: TradeNotice): void {
    const { watchList, pending, clock } = this.#options;
    const { directory } = pending;
    const market = directory.find(coin);
    if (market === undefined) return;
    const { name: dex } = directory.dexes[market.dexIndex];
    const nowMs = clock.nowMs();
    for (const user of users) watchList.noteTrade(formatAddress(user), dex, time, nowMs);
  }

  #takeAccounts(channel: string, data: unknown): void {
    const { audit } = this.#options;
    const read = readPushedAccounts(data);
    if (read instanceof DialectError) {
      audit.noteMismatch(channel, read.mismatch);
      return;
    }
    audit.noteOdd(channel, read.odd);
    for (const { user, dex, answer } of read.accounts) this.#takeAccount(user, dex, answer);
  }

  /**
   * Takes the state of an account. The message names the user, so a second read is not necessary to
   * know whose account it is.
   */
  #takeAccount(user: string, dex: string, answer: unknown): void {
    const { watchList, judge, audit, clock } = this.#options;
    const key = keyOf({ kind: 'account', user: user.toLowerCase(), dex });
    const watched = watchList.find(key);
    if (watched === undefined) return;
    const judged = judge.judge(answer, watched);
    if (judged.kind === 'checked' && this.#isCollateralKnown(watched, judged)) {
      this.#takeRows(watched, judged.rows);
    } else if (judged.kind === 'failed') {
      const what = `pushed ${describeItem(watched.item)}`;
      audit.warnOnce(`${what}: ${judged.reason}`, what);
    }
    // The account is read, because only a read can find the reason, such as a new market or a spot
    // balance.
    else watched.tradeMs ??= clock.nowMs();
  }

  /**
   * Returns true if the collateral is known. Either a liquidation price shows the collateral, or
   * accounts of this mode have no collateral.
   */
  #isCollateralKnown({ item }: Watched, { rows }: CheckedAccount): boolean {
    if (rows.isCollateralShown) return true;
    const mode = this.#options.modes.peek(item.user);
    return mode !== undefined && mode !== UNIFIED_MODE && hasKnownRules(mode);
  }

  #takeRows(watched: Watched, rows: AccountRows): void {
    const { ledger, pending, watchList, marks, items } = this.#options;
    if (!isConfirmation(ledger, pending, watched, rows)) {
      void items.recordPushed(watched, rows);
      return;
    }
    marks.takeAccountMarks(rows);
    watchList.noteRead(watched, rows.time);
  }
}
