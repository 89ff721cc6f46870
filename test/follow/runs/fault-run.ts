/**
 * One seeded run: a follower of the stub, a plan of faults, questions all the while, and the recovery
 * after it. Every answer is held against the truth, and so is the ledger that the follower has written.
 */

import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import { Random } from '../../../src/simulator/random.ts';
import type { RunningStub } from '../../../tools/harness/running-stub.ts';
import type { Question } from '../../../tools/stub-exchange/dialect-answers.ts';
import { drawPlan } from '../../../tools/stub-exchange/fault-plans.ts';
import type { FaultPlan } from '../../../tools/stub-exchange/faults.ts';
import {
  checkFollowerAnswer,
  type FollowerAnswer,
} from '../../../tools/stub-exchange/follower-answers.ts';
import { holdsStrangeCoin } from '../../../tools/stub-exchange/strange-coin.ts';
import type { Truth } from '../../../tools/stub-exchange/truth.ts';

/** Of this machine. */
const FAULTS_MS = 700;
const RECOVERY_MS_MAX = 90_000;
const ASK_MS = 25;
/**
 * How old a mark may be by the follower's own rules, in milliseconds of the exchange: pushed marks are
 * believed for 15 s after the last message, and messages are lost.
 */
const MARK_SLACK_MS = 15_000;
/**
 * How long this machine may be busy with something else, in its own milliseconds: four runs share its
 * processors with other suites. The exchange's clock runs up to ten times as fast.
 */
const BUSY_MS = 4_500;
const BUDGETS = [Number.POSITIVE_INFINITY, 12_000, 3_000];

/** A follower, in this process or in its own. */
export interface AskedFollower {
  ask(question: Question, maxAgeMs?: number): Promise<FollowerAnswer>;
  /** Blocks that the follower made and the ledger refused: there should be none. */
  readonly refusals: readonly string[];
  readonly warnings: readonly string[];
  stop(): Promise<void>;
}

/** What is drawn for each run. */
export interface FollowerChoice {
  readonly seed: string;
  /** Weight a minute; Infinity for no limit. */
  readonly budget: number;
  readonly usersMax: number;
}

export interface FaultRunOptions {
  readonly stub: RunningStub;
  readonly truth: Truth;
  readonly seed: string;
  startFollower(choice: FollowerChoice): Promise<AskedFollower>;
}

export interface FaultRunResult {
  readonly plan: FaultPlan;
  /** Answers by status, and those that the exchange gave itself. */
  readonly counts: Readonly<Record<string, number>>;
  readonly recoveryMs: number;
}

export class FaultRun {
  readonly #options: FaultRunOptions;
  readonly #stub: RunningStub;
  readonly #truth: Truth;
  readonly #random: Random;
  readonly #plan: FaultPlan;
  readonly #budget: number;
  readonly #counts: Record<string, number> = {};
  /** Answers from the ledger. */
  readonly #told: FollowerAnswer[] = [];
  /** Times of ledger answers about users who hold a coin that the ledger cannot hold. */
  readonly #strangeTimes: number[] = [];
  #follower: AskedFollower | undefined;

  constructor(options: FaultRunOptions) {
    const { stub, truth, seed } = options;
    this.#options = options;
    this.#stub = stub;
    this.#truth = truth;
    this.#random = new Random(seed);
    this.#plan = drawPlan(this.#random);
    this.#budget = this.#random.pick(BUDGETS);
  }

  /** What to repeat, if it fails. */
  describe(): string {
    const warnings = this.#follower?.warnings.slice(-8).join('\n  ');
    return `${JSON.stringify(this.#plan)}, budget ${this.#budget}\n  ${warnings}`;
  }

  async run(): Promise<FaultRunResult> {
    await this.#stub.forgetWeight();
    const follower = await this.#options.startFollower({
      seed: `${this.#random.word()}`,
      budget: this.#budget,
      usersMax: this.#random.pick([0, 10]),
    });
    this.#follower = follower;
    try {
      if (this.#random.chance(0.6)) await this.#untilAnswered(follower, this.#drawQuestions(6));
      await this.#askWithFaults(follower);
      const startedMs = performance.now();
      await this.#untilAnswered(follower, this.#drawQuestions(6));
      const recoveryMs = performance.now() - startedMs;
      await this.#checkAll(follower);
      return { plan: this.#plan, counts: this.#counts, recoveryMs };
    } finally {
      await follower.stop();
      await this.#stub.setFaults({});
    }
  }

  #drawQuestions(count: number): Question[] {
    return Array.from({ length: count }, () => this.#drawQuestion());
  }

  #drawQuestion(): Question {
    const user = this.#random.pick(this.#truth.users);
    if (this.#random.chance(0.1)) return { type: 'delegations', user };
    const dex = this.#random.chance(0.7) ? '' : this.#random.pick(this.#truth.dexes);
    return { type: 'clearinghouseState', user, dex };
  }

  /** Each from the ledger, and from a reading after this moment. */
  async #untilAnswered(follower: AskedFollower, questions: readonly Question[]): Promise<void> {
    const { time } = await this.#stub.report();
    const endMs = performance.now() + RECOVERY_MS_MAX;
    for (const question of questions) {
      for (;;) {
        const told = await follower.ask(question, MAX_AGE_MS);
        await this.#keep(told);
        const isNew = Number(told.headers['account-time']) >= time - MAX_AGE_MS;
        if (told.status === 200 && told.headers['account-source'] === undefined && isNew) break;
        assert.ok(performance.now() < endMs, `no recovery: ${told.status} ${told.body}`);
        await sleep(ASK_MS);
      }
    }
  }

  async #askWithFaults(follower: AskedFollower): Promise<void> {
    await this.#stub.setFaults(this.#plan);
    const { time: since } = await this.#stub.report();
    const asking: Promise<void>[] = [];
    const endMs = performance.now() + FAULTS_MS;
    while (performance.now() < endMs) {
      const maxAgeMs = this.#random.chance(0.3) ? MAX_AGE_MS : undefined;
      asking.push(this.#askOne(follower, maxAgeMs));
      await sleep(ASK_MS);
    }
    const { time: until } = await this.#stub.report();
    await this.#stub.setFaults({});
    await Promise.all(asking);
    const wrong = this.#strangeTimes.filter((time) => time > since && time < until);
    assert.deepEqual(wrong, [], `a coin is missing, listed from ${since} to ${until}`);
  }

  async #askOne(follower: AskedFollower, maxAgeMs: number | undefined): Promise<void> {
    const question = this.#drawQuestion();
    const isStrange = this.#plan.strangeCoin === true && isAboutStrangeCoin(question);
    const told = await follower.ask(question, maxAgeMs);
    await this.#keep(told);
    const isFromLedger = told.status === 200 && told.headers['account-source'] === undefined;
    if (isStrange && isFromLedger) this.#strangeTimes.push(Number(told.headers['account-time']));
  }

  async #keep(told: FollowerAnswer): Promise<void> {
    const isOwn = told.headers['account-source'] === 'upstream';
    const kind = isOwn ? 'upstream' : `${told.status}`;
    this.#counts[kind] = (this.#counts[kind] ?? 0) + 1;
    if (isOwn) await this.#checkServed(told);
    else if (told.status === 200) this.#told.push(told);
    else assert.ok(told.status === 502 || told.status === 503, `${told.status} ${told.body}`);
  }

  /** The exchange's own answer is one that it gave. */
  async #checkServed({ question, body }: FollowerAnswer): Promise<void> {
    const isServed = await this.#stub.hasServed(question, body);
    assert.ok(isServed, `never served for ${JSON.stringify(question)}: ${body}`);
  }

  async #checkAll(follower: AskedFollower): Promise<void> {
    this.#truth.refresh();
    const markSlackMs = MARK_SLACK_MS + BUSY_MS * this.#stub.options.speed;
    for (const told of this.#told) checkFollowerAnswer(this.#truth, told, { markSlackMs });
    assert.deepEqual(follower.refusals, []);
    const { weight, push } = await this.#stub.report();
    assert.ok(weight.windowMax <= this.#budget, `${weight.windowMax} of ${this.#budget} in 60 s`);
    assert.ok(push.usersMax <= 10 && push.connectionsMax <= 10, JSON.stringify(push));
  }
}

/** In milliseconds of the exchange. */
const MAX_AGE_MS = 4_000;

function isAboutStrangeCoin({ type, user, dex }: Question): boolean {
  return type === 'clearinghouseState' && dex === '' && holdsStrangeCoin(String(user));
}
