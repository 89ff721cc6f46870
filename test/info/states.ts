/** Small states to ask, and the ways in which they refuse a question. */

import assert from 'node:assert/strict';
import { parseBlock } from '../../src/events/event.ts';
import type { StateQuestion } from '../../src/info/question.ts';
import { readQuery } from '../../src/info/read-question.ts';
import { RequestError, type RequestErrorCode } from '../../src/info/request-error.ts';
import { applyBlock } from '../../src/state/fold.ts';
import { createState, type State } from '../../src/state/state.ts';

/** The time of the first block. */
export const TIME = 1_758_556_800_000;

/** The state after blocks of these events, a second apart. */
export function stateOf(...blocks: readonly (readonly unknown[])[]): State {
  const state = createState();
  blocks.forEach((events, index) => {
    const block = { height: index + 1, time: TIME + index * 1000, events };
    applyBlock(state, parseBlock(JSON.stringify(block)));
  });
  return state;
}

export interface Refused {
  readonly code: RequestErrorCode;
  readonly field: string | undefined;
  readonly message: string;
}

export function assertRefused(ask: () => unknown, { code, field, message }: Refused): void {
  assert.throws(ask, (error) => {
    assert.ok(error instanceof RequestError);
    assert.deepEqual([error.code, error.field, error.message], [code, field, message]);
    return true;
  });
}

/** The question of a query string; throws if it is refused. */
export function parseQueryText(query: string): StateQuestion {
  const question = readQuery(new URLSearchParams(query));
  if (question instanceof RequestError) throw question;
  assert.ok(question.source === 'state');
  return question;
}
