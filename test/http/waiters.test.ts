import assert from 'node:assert/strict';
import { test } from 'node:test';
import { prepareData } from '../../tools/harness/service.ts';
import { LONG_ONLY } from '../scale.ts';
import { openGround } from './in-process.ts';

const WAITERS = 65_536;
const NEVER = Number.MAX_SAFE_INTEGER;
const WAIT_MS = 1_000;

test('at most 65,536 wait for a height; one more does not wait', LONG_ONLY, async (context) => {
  let close: () => Promise<void> = async () => undefined;
  context.after(() => close());
  const { folder } = await prepareData(context);
  const { live, ...ground } = await openGround(folder);
  close = () => ground.close();
  await live.restored;
  const outcomes: string[] = [];
  const wait = async (name: string) => {
    await live.waitFor(NEVER, WAIT_MS);
    outcomes.push(name);
  };
  const waiting = Array.from({ length: WAITERS }, () => wait('waited'));
  await wait('refused');
  assert.deepEqual(outcomes, ['refused']);
  await Promise.all(waiting);
  await wait('waited');
  assert.equal(outcomes.length, WAITERS + 2);
  assert.ok(outcomes.slice(1).every((outcome) => outcome === 'waited'));
});
