/** Asks for the exchange's time when nothing else has told it for a while. */

import { TIME_RANGE } from '../../events/event.ts';
import type { Asker } from '../client/asker.ts';
import type { Clock } from '../client/limits/clock.ts';
import { DialectError, readAnswer, readOpen } from '../dialect/dialect.ts';
import type { ExchangeTime } from './blocks/exchange-time.ts';
import type { FollowAudit } from './follow-audit.ts';
import { PeriodicTask } from './periodic-task.ts';

const CHECK_MS = 1_000;
const QUIET_MS_MAX = 4_000;
/** Every server answers it: an address without an account gets one with zeros. */
const QUESTION = { type: 'clearinghouseState', user: `0x${'0'.repeat(40)}` };
/** A time that is not believed is asked for again. */
const TRIES_MAX = 3;

export interface HeartbeatOptions {
  readonly upstream: Asker;
  readonly time: ExchangeTime;
  readonly audit: FollowAudit;
  readonly clock: Clock;
  /** Called when the time was told. */
  told(): void;
}

export function keepTime({ upstream, time, audit, clock, told }: HeartbeatOptions): PeriodicTask {
  return new PeriodicTask({
    clock,
    intervalMs: () => CHECK_MS,
    async run() {
      if ((time.quietMs ?? Number.POSITIVE_INFINITY) < QUIET_MS_MAX) return;
      let fault: string | undefined;
      for (let tries = 0; tries < TRIES_MAX; tries++) {
        fault = noteTime(time, await upstream.ask(QUESTION, { priority: 'upkeep' }));
        if (fault === undefined) return told();
      }
      throw new Error(fault);
    },
    failed({ message }) {
      time.noteFailure(message);
      audit.warnOnce(`the exchange's time is not known: ${message}`);
    },
  });
}

/** Why the answer tells no time, if it does not. */
function noteTime(time: ExchangeTime, json: unknown): string | undefined {
  const told = readAnswer(() => readOpen(json, (fields) => fields.whole('time', TIME_RANGE)));
  return told instanceof DialectError ? told.message : time.noteAsked(told);
}
