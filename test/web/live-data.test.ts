/** Live values have one writer, which drops answers that are older than the one shown. */

import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { PROJECT } from '../../tools/harness/paths.ts';
import { isOlder } from '../../web/src/view/selectors.ts';
import type { View } from '../../web/src/view/store.ts';

const SOURCES = path.join(PROJECT, 'web/src');

test('only LiveData writes live values', () => {
  const writers = readdirSync(SOURCES, { recursive: true, encoding: 'utf8' })
    .filter((name) => /\.tsx?$/.test(name))
    .filter((name) => readFileSync(path.join(SOURCES, name), 'utf8').includes('.setLive('));
  assert.deepEqual(writers, ['feed/live-data.ts']);
});

const answer = (height: number | undefined, time: number) => ({
  ...{ value: [], height, time, accountTime: undefined },
});
const viewAt = (height: number, time: number) => ({ freshness: { height, time } }) as View;

const CASES = [
  { name: 'the first answer', shown: undefined, next: answer(1, 10) },
  { name: 'a newer height', shown: answer(5, 50), next: answer(6, 60) },
  { name: 'the same height', shown: answer(5, 50), next: answer(5, 50) },
  { name: 'an older height', shown: answer(5, 50), next: answer(4, 60) },
  { name: 'any height after a ledger that is gone', shown: answer(9, 90), next: answer(4, 40) },
  { name: 'an older time, without a height', shown: answer(5, 50), next: answer(undefined, 49) },
  { name: 'a newer time, without a height', shown: answer(undefined, 50), next: answer(5, 51) },
];

test('an answer is older by its height, or by its time where an answer has no height', () => {
  const olderThanShown = CASES.filter(({ shown, next }) => isOlder(viewAt(8, 80), next, shown));
  assert.deepEqual(
    olderThanShown.map(({ name }) => name),
    ['an older height', 'an older time, without a height'],
  );
});

test('before the first health check no answer is older', () => {
  const view = { freshness: undefined } as View;
  assert.equal(isOlder(view, answer(4, 40), answer(5, 50)), false);
});
