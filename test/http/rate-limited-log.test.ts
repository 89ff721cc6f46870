import assert from 'node:assert/strict';
import { test } from 'node:test';
import { pino } from 'pino';
import { RateLimitedLog } from '../../src/http/answering/limits/rate-limited-log.ts';
import { StandingClock } from '../standing-clock.ts';

test('30 lines a minute are logged, and the next minute says how many were left out', () => {
  const clock = new StandingClock();
  const lines: { n: number; leftOut?: number }[] = [];
  const log = new RateLimitedLog(pino({}, { write: (line) => lines.push(JSON.parse(line)) }));
  const fill = (count: number) => {
    for (let n = 0; n < count; n++) log.write('info', { n }, 'a line');
  };
  fill(40);
  clock.advance(59_999);
  fill(1);
  assert.deepEqual(
    lines.map(({ n }) => n),
    Array.from({ length: 30 }, (_, n) => n),
  );
  clock.advance(1);
  fill(2);
  const [first, second] = lines.slice(30);
  assert.deepEqual([first.leftOut, second.leftOut, lines.length], [11, undefined, 32]);
  clock.advance(60_000);
  fill(1);
  assert.equal(lines.at(-1)?.leftOut, undefined);
});
