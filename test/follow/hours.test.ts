/** What takes an hour, on a virtual clock: an exchange that is gone, push that falls silent. */

import assert from 'node:assert/strict';
import path from 'node:path';
import { type TestContext, test } from 'node:test';
import { LONG_ONLY, scale } from '../scale.ts';
import { makeTemporaryFolder } from '../temporary-folder.ts';
import { CompressedFollower } from './compressed-follower.ts';
import type { Question } from './dialect-answers.ts';
import { checkTold, type Told } from './told-answers.ts';
import { Truth } from './truth.ts';
import { VirtualClock } from './virtual-clock.ts';
import { VirtualExchange } from './virtual-exchange.ts';

const SECOND_MS = 1_000;
const HOUR_MS = 3_600_000;
const GONE_MS = scale(300_000, 300_000, HOUR_MS);
const START_TIME_MS = Date.UTC(2026, 0, 5, 11, 30);
/** Whatever is waited for has come before, by the virtual clock. */
const PATIENCE_MS = 120_000;

/** A follower without a limit, of an exchange with a block every two seconds. */
class VirtualFollowing {
  readonly exchange: VirtualExchange;
  readonly follower: CompressedFollower;
  readonly truth: Truth;
  readonly clock = new VirtualClock();

  constructor(file: string) {
    const { clock } = this;
    const limit = Number.POSITIVE_INFINITY;
    const sizes = { accounts: 40, blockMs: 2 * SECOND_MS, limit };
    this.exchange = new VirtualExchange({
      ...{ file, seed: 'hours', startTimeMs: START_TIME_MS, clock },
      ...sizes,
    });
    this.follower = CompressedFollower.followVirtual(this.exchange, {
      ...{ budget: limit, sweepMs: 60_000, waitMs: 5_000, usersMax: 10, clock },
    });
    this.truth = new Truth(file);
  }

  static async start(context: TestContext): Promise<VirtualFollowing> {
    const folder = await makeTemporaryFolder(context);
    const following = new VirtualFollowing(path.join(folder, 'truth.ndjson'));
    context.after(() => following.follower.stop());
    return following;
  }

  questionsFor(count: number): Question[] {
    return this.truth.users
      .slice(0, count)
      .map((user) => ({ type: 'clearinghouseState', user, dex: '' }));
  }

  /** Lets time pass until there is something. */
  async until<T>(what: string, look: () => T | undefined | false): Promise<T> {
    for (let passedMs = 0; passedMs < PATIENCE_MS; passedMs += SECOND_MS / 10) {
      const seen = look();
      if (seen !== undefined && seen !== false) return seen;
      await this.clock.advance(SECOND_MS / 10);
    }
    throw new Error(`waited in vain for ${what}: ${this.follower.warnings.join('\n')}`);
  }

  async ask(question: Question, maxAgeMs?: number): Promise<Told> {
    let told: Told | undefined;
    void this.follower.ask(question, maxAgeMs).then((answer) => {
      told = answer;
    });
    return this.until(JSON.stringify(question), () => told);
  }

  /** Asks until it is answered from the ledger, with an account of this time or later. */
  async askLedger(question: Question, time: number, maxAgeMs?: number): Promise<Told> {
    const deadlineMs = this.clock.nowMs() + PATIENCE_MS;
    while (this.clock.nowMs() < deadlineMs) {
      const told = await this.ask(question, maxAgeMs);
      const isFromLedger = told.status === 200 && told.headers['account-source'] === undefined;
      if (isFromLedger && Number(told.headers['account-time']) >= time) return told;
      await this.clock.advance(SECOND_MS);
    }
    throw new Error(`no answer to ${JSON.stringify(question)}`);
  }

  check(told: Told): void {
    this.truth.refresh();
    checkTold(this.truth, told);
  }
}

test(
  'an exchange that is gone leaves old answers old, and is followed again when it is back',
  LONG_ONLY,
  async (t) => {
    const following = await VirtualFollowing.start(t);
    const { exchange, follower, clock } = following;
    const questions = following.questionsFor(10);
    for (const question of questions) following.check(await following.askLedger(question, 1));
    exchange.setGone(true);
    const goneAt = exchange.time;
    await clock.advance(GONE_MS);
    for (const question of questions) {
      const told = await following.ask(question);
      following.check(told);
      assert.ok(Number(told.headers['account-time']) <= goneAt, 'an old answer as fresh');
    }
    const young = await following.ask(questions[0], 10 * SECOND_MS);
    assert.equal(young.status, 502, young.body);
    const { isWell, reason, ages } = follower.status;
    assert.ok(!isWell && reason !== '', `well: ${reason}`);
    assert.ok((ages.accountsMax ?? 0) >= GONE_MS - 60_000, JSON.stringify(ages));
    exchange.setGone(false);
    const backAt = exchange.time;
    for (const question of questions) {
      following.check(await following.askLedger(question, backAt, 30 * SECOND_MS));
    }
    await following.until('a follower that is well', () => follower.status.isWell);
    assert.deepEqual(follower.refusals, []);
  },
);

test('marks go on when push falls silent, and come by push again afterwards', async (t) => {
  const following = await VirtualFollowing.start(t);
  const { exchange, follower, clock } = following;
  const [question] = following.questionsFor(1);
  await following.askLedger(question, 1);
  exchange.isSilent = true;
  await clock.advance(120 * SECOND_MS);
  const { ages } = follower.status;
  assert.ok((ages.marks ?? Number.POSITIVE_INFINITY) < 30_000, JSON.stringify(ages));
  assert.ok((ages.stream ?? 0) > 30_000, JSON.stringify(ages));
  following.check(await following.ask(question));
  exchange.isSilent = false;
  await following.until('push', () => (follower.status.ages.stream ?? HOUR_MS) < 5_000);
  following.check(await following.ask(question));
});
