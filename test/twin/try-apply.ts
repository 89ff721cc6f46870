/** Random blocks may be refused. */

import { parseBlock } from '../../src/events/event.ts';
import { BlockError } from '../../src/events/refusal.ts';
import { applyBlock } from '../../src/state/fold.ts';
import type { State } from '../../src/state/state.ts';

/** Whether the state accepted the block; any error but a refusal is a bug. */
export function tryApply(state: State, line: string): boolean {
  try {
    applyBlock(state, parseBlock(line));
    return true;
  } catch (error) {
    if (error instanceof BlockError) return false;
    throw error;
  }
}
