/**
 * The check of a block's time against this machine's clock. Time never goes back, so one block from
 * the far future (microseconds for milliseconds, say) would keep every honest block after it out.
 */

import type { Block } from '../events/event.ts';
import { BlockError, Refusal } from '../events/refusal.ts';

/** Throws a BlockError where a block is further ahead than allowed; 0 allows any time. */
export function checkClock({ height, time }: Block, aheadMsMax: number, nowMs: number): void {
  if (aheadMsMax === 0 || time - nowMs <= aheadMsMax) return;
  const expected = `at most ${aheadMsMax} ms ahead of this machine's clock, ${nowMs} (--ahead-max)`;
  throw new BlockError({ height }, new Refusal('time', time, expected));
}
