/**
 * Checks a block's time against this machine's clock. The time of blocks never goes back. So after
 * one block from the far future (for example with microseconds instead of milliseconds) every later
 * block would be refused.
 */

import type { Block } from '../events/event.ts';
import { BlockError, Refusal } from '../events/refusal.ts';

/** Throws a BlockError if a block is further ahead than `aheadMsMax`, where 0 means no limit. */
export function checkClock({ height, time }: Block, aheadMsMax: number, nowMs: number): void {
  if (aheadMsMax === 0 || time - nowMs <= aheadMsMax) return;
  const expected = `at most ${aheadMsMax} ms ahead of this machine's clock, ${nowMs} (--ahead-max)`;
  throw new BlockError({ height }, new Refusal('time', time, expected));
}
