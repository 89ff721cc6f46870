/** Keeps the deployment auction up to date: reads it at an interval. */

import type { Clock } from '../../client/limits/clock.ts';
import type { QuestionAsker } from '../../client/question-asker.ts';
import { describeAuctionChanges, readAuctionAnswer } from '../../dialect/auction-answer.ts';
import { DialectError } from '../../dialect/dialect.ts';
import type { ExchangeTime } from '../blocks/exchange-time.ts';
import type { PendingChanges } from '../blocks/pending-changes.ts';
import type { FollowAudit } from '../follow-audit.ts';
import { PeriodicTask } from '../periodic-task.ts';

const INTERVAL_MS = 60_000;
/**
 * The interval at which to check whether the exchange's time is known. The answer is checked with
 * this time.
 */
const TIME_WAIT_MS = 1_000;

export interface AuctionKeeperOptions {
  readonly upstream: QuestionAsker;
  readonly pending: PendingChanges;
  readonly time: ExchangeTime;
  readonly audit: FollowAudit;
  readonly clock: Clock;
}

export function startAuctionReads({
  upstream,
  pending,
  time,
  audit,
  clock,
}: AuctionKeeperOptions): PeriodicTask {
  return new PeriodicTask({
    clock,
    intervalMs: () => (time.now === undefined ? TIME_WAIT_MS : INTERVAL_MS),
    async run() {
      if (time.now === undefined) return;
      const question = { type: 'perpDeployAuctionStatus' };
      const json = await upstream.ask(question, { priority: 'upkeep' });
      const auction = readAuctionAnswer(json, time.now);
      if (auction instanceof DialectError) audit.noteMismatch('auction', auction.mismatch);
      else void pending.put('auction', (ledger) => describeAuctionChanges(ledger.auction, auction));
    },
    failed: (error) => audit.warn(`auction not read: ${error.message}`),
  });
}
