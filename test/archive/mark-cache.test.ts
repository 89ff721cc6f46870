import assert from 'node:assert/strict';
import { test } from 'node:test';
import { MarkCache } from '../../src/archive/reading/mark-cache.ts';
import { SPAN_HEIGHTS } from '../../src/archive/records/height-spans.ts';

/** Marks that are a thousand times the market, plus the height. */
function countingCache(): { readonly cache: MarkCache; readonly reads: string[] } {
  const reads: string[] = [];
  const markOf = (market: number, height: number) => market * 1000 + height;
  const cache = new MarkCache({
    readMark(market, height) {
      reads.push(`mark of ${market}`);
      return markOf(market, height);
    },
    readMarks(market, span) {
      reads.push(`span ${span} of ${market}`);
      return Float64Array.from({ length: SPAN_HEIGHTS }, (_, place) =>
        markOf(market, span * SPAN_HEIGHTS + place),
      );
    },
  });
  return { cache, reads };
}

test('the first mark of a market in a span is read alone, the next ones with the whole span', () => {
  const { cache, reads } = countingCache();
  const got = [3, 4, 5, 3].map((height) => cache.get(2, height));
  assert.deepEqual(got, [2003, 2004, 2005, 2003]);
  assert.deepEqual(reads, ['mark of 2', 'span 0 of 2']);
});

test('marks of markets and spans that take turns are each read alone once', () => {
  const { cache, reads } = countingCache();
  const heights = [1, SPAN_HEIGHTS + 1, 2 * SPAN_HEIGHTS + 1];
  for (const market of [9, 0]) {
    assert.deepEqual(
      heights.map((height) => cache.get(market, height)),
      heights.map((height) => market * 1000 + height),
    );
  }
  assert.deepEqual(reads, [...Array(3).fill('mark of 9'), ...Array(3).fill('mark of 0')]);
});

test('a span that is forgotten is read again', () => {
  const { cache, reads } = countingCache();
  cache.get(1, 7);
  cache.forget(0);
  cache.get(1, 7);
  cache.get(1, 8);
  cache.forget(0);
  cache.get(1, 8);
  assert.deepEqual(reads, ['mark of 1', 'mark of 1', 'span 0 of 1', 'mark of 1']);
});
