/** How late this process itself comes on a busy machine: what it waits for may be that late as well. */

import { setTimeout as sleep } from 'node:timers/promises';

const STEP_MS = 5;

/** The longest delay until `isOver`. */
export async function measureOwnDelay(isOver: () => boolean): Promise<number> {
  let delayMsMax = 0;
  while (!isOver()) {
    const beforeMs = performance.now();
    await sleep(STEP_MS);
    delayMsMax = Math.max(delayMsMax, performance.now() - beforeMs - STEP_MS);
  }
  return delayMsMax;
}
