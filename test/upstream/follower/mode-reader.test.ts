/** When the mode of an account is asked for, and how long an answer is trusted. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { AskOptions } from '../../../src/upstream/client/upstream.ts';
import { UpstreamError } from '../../../src/upstream/client/upstream-error.ts';
import { ModeReader } from '../../../src/upstream/follower/accounts/mode-reader.ts';
import { ManualClock } from '../../follow/manual-clock.ts';
import { USER } from './ledgers.ts';

const ASK: AskOptions = { priority: 'asked' };
const HOUR_MS = 3_600_000;

class Modes {
  readonly clock = new ManualClock();
  readonly learned: string[] = [];
  answer: () => unknown = () => 'default';
  asked = 0;
  readonly #modes = new ModeReader({
    clock: this.clock,
    upstream: {
      ask: async () => {
        this.asked++;
        return this.answer();
      },
    },
    learned: (user, mode) => void this.learned.push(`${user} ${mode}`),
  });

  find(isDoubted = false, user = USER): Promise<string | undefined> {
    return this.#modes.find({ user, isDoubted }, ASK);
  }

  confirm(): void {
    this.#modes.confirm(USER);
  }

  /** How often the question is asked, if somebody needs its answer each second. */
  async countAsked(seconds: number, isDoubted: boolean): Promise<number> {
    const before = this.asked;
    for (let second = 0; second < seconds; second++) {
      this.clock.advance(1_000);
      await this.find(isDoubted).catch(() => undefined);
    }
    return this.asked - before;
  }
}

function refuse(status: number): () => never {
  return () => {
    throw new UpstreamError(status >= 500 ? 'server' : 'refused', `status ${status}`, { status });
  };
}

test('a mode is asked for once, trusted for six hours, and passed on', async () => {
  const modes = new Modes();
  assert.equal(await modes.find(), 'default');
  modes.clock.advance(6 * HOUR_MS - 1);
  assert.equal(await modes.find(), 'default');
  assert.equal(modes.asked, 1);
  modes.clock.advance(1);
  modes.answer = () => 'unifiedAccount';
  assert.equal(await modes.find(), 'unifiedAccount');
  assert.deepEqual(modes.learned, [`${USER} default`, `${USER} unifiedAccount`]);
});

test('a mode that explains nothing is asked for again, less and less often', async () => {
  const modes = new Modes();
  await modes.find();
  assert.equal(await modes.countAsked(15, true), 1);
  assert.equal(await modes.countAsked(30, true), 1);
  assert.equal(await modes.countAsked(HOUR_MS / 1_000, true), 8);
  modes.confirm();
  assert.equal(await modes.countAsked(15, true), 1);
});

test('one refusal of the question is not taken for a server that does not know it', async () => {
  const modes = new Modes();
  modes.answer = refuse(422);
  assert.equal(await modes.find(), undefined);
  modes.answer = () => 'unifiedAccount';
  modes.clock.advance(1_000);
  assert.equal(await modes.find(), 'unifiedAccount');
  modes.answer = refuse(422);
  modes.clock.advance(6 * HOUR_MS);
  await assert.rejects(modes.find(), /status 422/, 'it has answered the question before');
});

test('a server that does not know the question is asked less and less often, for all accounts', async () => {
  const modes = new Modes();
  modes.answer = refuse(404);
  assert.equal(await modes.find(), undefined);
  assert.equal(await modes.find(false, `0x${'a'.repeat(40)}`), undefined);
  assert.equal(modes.asked, 1);
  assert.ok((await modes.countAsked(HOUR_MS / 1_000, true)) <= 15);
});

for (const [name, answer] of [
  ['403', refuse(403)],
  ['429', refuse(429)],
  ['500', refuse(500)],
  ['no text', () => 5],
] as const) {
  test(`a question that fails with ${name} says nothing about the mode, and is not repeated at once`, async () => {
    const modes = new Modes();
    modes.answer = answer;
    await assert.rejects(modes.find(), UpstreamError);
    await assert.rejects(modes.find(), UpstreamError);
    assert.equal(modes.asked, 1);
    assert.ok((await modes.countAsked(600, false)) <= 16);
    modes.answer = () => 'default';
    modes.clock.advance(60_000);
    assert.equal(await modes.find(), 'default');
  });
}

test('the modes of 20,000 accounts are remembered, and the longest unused is dropped', async () => {
  const modes = new Modes();
  await modes.find();
  for (let index = 0; index < 20_000; index++) {
    await modes.find(false, `0x${index.toString(16).padStart(40, '0')}`);
  }
  assert.equal(modes.asked, 20_001);
  await modes.find();
  assert.equal(modes.asked, 20_002);
});
