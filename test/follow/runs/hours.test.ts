/** What takes an hour, on a virtual clock: an exchange that is gone, push that falls silent. */

import assert from 'node:assert/strict';
import path from 'node:path';
import { type TestContext, test } from 'node:test';
import type { HistoryView } from '../../../src/info/archive/history-view.ts';
import type { ArchiveQuestion } from '../../../src/info/question.ts';
import { readQuestion } from '../../../src/info/read-question.ts';
import { appendAll, NO_SNAPSHOTS } from '../../../tools/harness/data-directory.ts';
import { makeTemporaryFolder } from '../../../tools/harness/temporary-folder.ts';
import type { Question } from '../../../tools/stub-exchange/dialect-answers.ts';
import {
  checkFollowerAnswer,
  type FollowerAnswer,
} from '../../../tools/stub-exchange/follower-answers.ts';
import { Truth } from '../../../tools/stub-exchange/truth.ts';
import { archiveOnce, withArchive } from '../../archive/archived.ts';
import { listBodies, Witness } from '../../archive/witness.ts';
import { LONG_ONLY, scale } from '../../scale.ts';
import { VirtualClock } from '../virtual-clock.ts';
import { CompressedFollower } from './compressed-follower.ts';
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

  async ask(question: Question, maxAgeMs?: number): Promise<FollowerAnswer> {
    let told: FollowerAnswer | undefined;
    void this.follower.ask(question, maxAgeMs).then((answer) => {
      told = answer;
    });
    return this.until(JSON.stringify(question), () => told);
  }

  /** Asks until it is answered from the ledger, with an account of this time or later. */
  async askLedger(question: Question, time: number, maxAgeMs?: number): Promise<FollowerAnswer> {
    const deadlineMs = this.clock.nowMs() + PATIENCE_MS;
    while (this.clock.nowMs() < deadlineMs) {
      const told = await this.ask(question, maxAgeMs);
      const isFromLedger = told.status === 200 && told.headers['account-source'] === undefined;
      if (isFromLedger && Number(told.headers['account-time']) >= time) return told;
      await this.clock.advance(SECOND_MS);
    }
    throw new Error(`no answer to ${JSON.stringify(question)}`);
  }

  check(told: FollowerAnswer): void {
    this.truth.refresh();
    checkFollowerAnswer(this.truth, told);
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
    const { isHealthy, reason, ages } = follower.status;
    assert.ok(!isHealthy && reason !== '', `healthy: ${reason}`);
    assert.ok((ages.accountsMax ?? 0) >= GONE_MS - 60_000, JSON.stringify(ages));
    exchange.setGone(false);
    const backAt = exchange.time;
    for (const question of questions) {
      following.check(await following.askLedger(question, backAt, 30 * SECOND_MS));
    }
    await following.until('a healthy follower', () => follower.status.isHealthy);
    assert.deepEqual(follower.refusals, []);
  },
);

test('marks go on when push falls silent, and come by push again afterwards', async (t) => {
  const following = await VirtualFollowing.start(t);
  const { exchange, follower, clock } = following;
  const [question] = following.questionsFor(1);
  await following.askLedger(question, 1);
  exchange.push.isSilent = true;
  await clock.advance(120 * SECOND_MS);
  const { ages } = follower.status;
  assert.ok((ages.marks ?? Number.POSITIVE_INFINITY) < 30_000, JSON.stringify(ages));
  assert.ok((ages.stream ?? 0) > 30_000, JSON.stringify(ages));
  following.check(await following.ask(question));
  exchange.push.isSilent = false;
  await following.until('push', () => (follower.status.ages.stream ?? HOUR_MS) < 5_000);
  following.check(await following.ask(question));
});

type Row = readonly [height: number | null, time: number, ...figures: (string | null)[]];

function seriesOf(history: HistoryView, body: object): Row[] {
  const steps = (readQuestion(body) as ArchiveQuestion).answer(history);
  for (;;) {
    const step = steps.next();
    if (step.done === true) return JSON.parse(String(step.value.body)) as Row[];
  }
}

test('history begins with the first read, and has a gap while the exchange was gone', async (t) => {
  const following = await VirtualFollowing.start(t);
  const { exchange, follower, clock, truth } = following;
  const [question] = following.questionsFor(1);
  await following.until('blocks without accounts', () => follower.height > 10);
  await clock.advance(20 * SECOND_MS);
  const unreadAt = exchange.time;
  await following.askLedger(question, 1);
  const readAt = exchange.time;
  await clock.advance(60 * SECOND_MS);
  exchange.setGone(true);
  const goneAt = exchange.time;
  await clock.advance(300 * SECOND_MS);
  const backAt = exchange.time;
  exchange.setGone(false);
  await following.askLedger(question, backAt, 10 * SECOND_MS);
  const againAt = exchange.time;
  await clock.advance(60 * SECOND_MS);
  await follower.stop();

  const witness = new Witness('followed', listBodies(valuesOf(truth)), 5);
  witness.lookAtAll(follower.lines);
  const data = path.join(await makeTemporaryFolder(t), 'data');
  await appendAll(data, follower.lines, NO_SNAPSHOTS);
  await archiveOnce(data);
  await withArchive(data, (history) => {
    assert.equal(witness.compare(history), witness.count);
    const asked = { type: 'accountHistory', user: question['user'], step: 5 * SECOND_MS };
    const rows = seriesOf(history, asked);
    // The exchange is a little behind its clock.
    assert.ok(rows[0][1] >= START_TIME_MS - SECOND_MS, `begins at ${rows[0][1]}`);
    const heightsBetween = (from: number, to: number) =>
      rows.filter(([, time]) => time >= from && time <= to).map(([height]) => height);
    const isGap = (height: number | null) => height === null;
    const [unread, read] = [
      heightsBetween(0, unreadAt - 5 * SECOND_MS),
      heightsBetween(readAt, goneAt),
    ];
    const gone = heightsBetween(goneAt + 70 * SECOND_MS, backAt - 5 * SECOND_MS);
    const again = heightsBetween(againAt, exchange.time);
    assert.ok(unread.length >= 3 && unread.every(isGap), `unread: ${unread}`);
    assert.ok(read.length >= 10 && !read.some(isGap), `read: ${read}`);
    assert.ok(gone.length >= 40 && gone.every(isGap), `gone: ${gone}`);
    assert.ok(again.length >= 10 && !again.some(isGap), `again: ${again}`);
    for (const [height, , ...figures] of rows) {
      assert.ok(figures.every((figure) => (figure === null) === (height === null)));
    }
  });
});

function valuesOf({ users }: Truth) {
  return { user: users.slice(0, 3), users: [users.slice(0, 3)], dex: [''], id: [3] };
}
