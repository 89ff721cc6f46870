/** Asks for the exchange's time if no message has reported the time for some seconds. */

import { TIME_RANGE } from '../../events/event.ts';
import type { Clock } from '../client/limits/clock.ts';
import type { QuestionAsker } from '../client/question-asker.ts';
import { DialectError, readAnswer, readOpen } from '../dialect/dialect.ts';
import type { ExchangeTime } from './blocks/exchange-time.ts';
import type { FollowAudit } from './follow-audit.ts';
import { PeriodicTask } from './periodic-task.ts';

const CHECK_MS = 1_000;
const QUIET_MS_MAX = 4_000;
/**
 * A question that every server answers: for an address without an account, the answer has zeros.
 */
const QUESTION = { type: 'clearinghouseState', user: `0x${'0'.repeat(40)}` };
/** The maximum number of times that the question is asked if the received time is not trusted. */
const TRIES_MAX = 3;

export interface HeartbeatOptions {
  readonly upstream: QuestionAsker;
  readonly time: ExchangeTime;
  readonly audit: FollowAudit;
  readonly clock: Clock;
  /** Called when the upstream has reported the time. */
  timeReceived(): void;
}

export function startHeartbeat({
  upstream,
  time,
  audit,
  clock,
  timeReceived,
}: HeartbeatOptions): PeriodicTask {
  return new PeriodicTask({
    clock,
    intervalMs: () => CHECK_MS,
    async run() {
      if ((time.quietMs ?? Number.POSITIVE_INFINITY) < QUIET_MS_MAX) return;
      let fault: string | undefined;
      for (let tries = 0; tries < TRIES_MAX; tries++) {
        fault = noteTime(time, await upstream.ask(QUESTION, { priority: 'upkeep' }));
        if (fault === undefined) return timeReceived();
      }
      throw new Error(fault);
    },
    failed({ message }) {
      time.noteFailure(message);
      audit.warnOnce(`the exchange's time is not known: ${message}`);
    },
  });
}

/**
 * Returns the reason why the answer has no usable time; returns undefined if it has a usable time.
 */
function noteTime(time: ExchangeTime, json: unknown): string | undefined {
  const reported = readAnswer(() => readOpen(json, (fields) => fields.whole('time', TIME_RANGE)));
  return reported instanceof DialectError ? reported.message : time.noteAsked(reported);
}
