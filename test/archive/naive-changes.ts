/** Which positions a block changed, and the types of the events that did: one event is folded at a time. */

import assert from 'node:assert/strict';
import type { WireBlock, WireEvent } from '../../tools/naive-twin/naive-block.ts';
import { foldBlock } from '../../tools/naive-twin/naive-fold.ts';
import type { NaiveState } from '../../tools/naive-twin/naive-state.ts';

export interface Change {
  /** In the order of docs/reference/questions.md. */
  readonly causes: readonly string[];
}

const CAUSES = ['fill', 'funding', 'isolatedMargin', 'leverage', 'account'];

/** By user and coin. */
export function changesOf(before: NaiveState, { height, time, events }: WireBlock) {
  const causes = new Map<string, Set<string>>();
  let state = before;
  const fold = (some: readonly WireEvent[]) => {
    const folded = foldBlock(state, { height, time, events: some });
    assert.ok(folded.isAccepted);
    state = { ...folded.state, height: before.height, time: before.time };
  };
  let others: WireEvent[] = [];
  for (const event of events) {
    if (!CAUSES.includes(event.type)) {
      others.push(event);
      continue;
    }
    fold(others);
    others = [];
    const old = state;
    fold([event]);
    for (const key of changedIn(old, state)) {
      causes.set(key, (causes.get(key) ?? new Set()).add(event.type));
    }
  }
  const changes = new Map<string, Change>();
  for (const key of changedIn(before, state)) {
    const known = causes.get(key) ?? assert.fail(`nothing has changed ${key}`);
    changes.set(key, { causes: CAUSES.filter((cause) => known.has(cause)) });
  }
  return changes;
}

function changedIn(before: NaiveState, after: NaiveState): string[] {
  const changed: string[] = [];
  for (const [key, holding] of after.holdings) {
    if (textOf(holding) !== textOf(before.holdings.get(key))) changed.push(key);
  }
  return changed;
}

function textOf(value: unknown): string | undefined {
  return JSON.stringify(value, (_key, each) => (typeof each === 'bigint' ? String(each) : each));
}
