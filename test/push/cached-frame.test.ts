import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CachedFrame } from '../../src/http/push/cached-frame.ts';

test('a kept frame is the one that was kept last, at its height alone', () => {
  const kept = new CachedFrame();
  assert.equal(kept.at(0), undefined);
  for (const [height, length] of [10, 400, 0, 399, 401, 5000, 1].entries()) {
    const frame = Buffer.alloc(length, height + 1);
    kept.keep(frame, height);
    frame.fill(0);
    assert.deepEqual(kept.at(height), Buffer.alloc(length, height + 1));
    assert.equal(kept.at(height - 1), undefined);
    assert.equal(kept.at(height + 1), undefined);
  }
});

test('a frame that is forgotten is not sent again, the next one is', () => {
  const kept = new CachedFrame();
  kept.keep(Buffer.from('one'), 7);
  kept.forget();
  assert.equal(kept.at(7), undefined);
  kept.keep(Buffer.from('two'), 7);
  assert.equal(String(kept.at(7)), 'two');
});

test('frames of about the same length are kept in the same memory', () => {
  const kept = new CachedFrame();
  kept.keep(Buffer.alloc(2000), 1);
  const memory = kept.at(1)?.buffer;
  kept.keep(Buffer.alloc(2010), 2);
  assert.equal(kept.at(2)?.buffer, memory);
});
