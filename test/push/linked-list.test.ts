/** A list against an array, over random steps. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { LinkedList, type ListNode } from '../../src/http/push/linked-list.ts';

class Item implements ListNode<Item> {
  list: LinkedList<Item> | undefined;
  previous: Item | undefined;
  next: Item | undefined;
}

const ITEMS = 6;

function listItems(list: LinkedList<Item>): Item[] {
  const found: Item[] = [];
  for (let item = list.first; item !== undefined; item = item.next) found.push(item);
  return found;
}

const step = fc.record({ isAppend: fc.boolean(), index: fc.nat(ITEMS - 1), isOther: fc.boolean() });

test('items keep their order, whichever are taken out', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const items = Array.from({ length: ITEMS }, () => new Item());
      const chains = [new LinkedList<Item>(), new LinkedList<Item>()];
      const models: Item[][] = [[], []];
      for (const { isAppend, index, isOther } of steps) {
        const item = items[index];
        const at = Number(isOther);
        if (isAppend) {
          chains[at].append(item);
          // An item is in one list at a time.
          models[1 - at] = models[1 - at].filter((other) => other !== item);
          if (!models[at].includes(item)) models[at].push(item);
        } else {
          chains[at].remove(item);
          models[at] = models[at].filter((other) => other !== item);
        }
        assert.deepEqual(chains.map(listItems), models);
      }
      for (const list of chains) list.clear();
      assert.deepEqual(chains.map(listItems), [[], []]);
    }),
  );
});
