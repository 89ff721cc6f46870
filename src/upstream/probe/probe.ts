/**
 * Finds out which questions and subscriptions of our interface a server supports, which form the
 * data has, how often pushed data arrives, and how old the data is. A probe uses one connection for
 * questions, one push connection, and a small budget. It sends only questions that read.
 */

import { isJsonObject } from '../../events/fields.ts';
import { type Address, formatAddress } from '../../exact/address.ts';
import type { QuestionBody } from '../../info/question.ts';
import { OWN_TYPES } from '../../info/question-types.ts';
import type { Clock } from '../client/limits/clock.ts';
import type { UpstreamSubscription } from '../client/push/upstream-subscription.ts';
import { compareForm } from './answer-form.ts';
import { Distribution } from './distribution.ts';
import { ProbeAccounts } from './probe-accounts.ts';
import type { ProbeAnswer, ProbeClient } from './probe-client.ts';
import type { ProbeMarkets } from './probe-markets.ts';
import type { ProbePush } from './probe-push.ts';
import { listProbeTypes, makeProbeQuestion } from './probe-questions.ts';
import type { AccountRow, ProbeReport, QuestionRow } from './probe-report.ts';

/** The interval at which an account is read again, to measure the age of the answer. */
const AGE_INTERVAL_MS = 10_000;
const ACCOUNT = 'clearinghouseState';
const TRADED_COINS = 2;
/** The question after which accounts are compared, because then dexes and markets are known. */
const ACCOUNTS_AFTER = 'metaAndAssetCtxs';
/** The user whose account is read if no user is given. The exchange answers with zeros. */
const NOBODY = `0x${'0'.repeat(40)}`;
const MINUTE_MS = 60_000;

export interface ProbeOptions {
  readonly program: string;
  readonly origin: string;
  /** The user whose account is read; undefined to read no user's account. */
  readonly user: Address | undefined;
  readonly durationMs: number;
  /** The weight per minute. */
  readonly budget: number;
  readonly client: ProbeClient;
  readonly markets: ProbeMarkets;
  readonly push: ProbePush;
  readonly clock: Clock;
  wallMs(): number;
  subscribe(wanted: readonly UpstreamSubscription[]): void;
  progress(text: string): void;
}

export class Probe {
  readonly #options: ProbeOptions;
  readonly #user: string;
  readonly #rows = new Map<string, QuestionRow>();
  readonly #accounts: AccountRow[] = [];
  readonly #ages = { byClock: new Distribution(), byDate: new Distribution() };
  #dateAheadMs: number | undefined;
  readonly #startMs: number;
  #cancelTimer: () => void = () => undefined;

  constructor(options: ProbeOptions) {
    this.#options = options;
    this.#user = options.user === undefined ? NOBODY : formatAddress(options.user);
    this.#startMs = options.clock.nowMs();
  }

  /**
   * Resolves with the report when the time is over. If the signal aborts, resolves with the partial
   * report.
   */
  async run(signal: AbortSignal): Promise<ProbeReport> {
    const { client, durationMs, wallMs } = this.#options;
    const startedAt = new Date(wallMs()).toISOString();
    const ended = new Promise<void>((resolve) => {
      signal.addEventListener('abort', () => resolve(), { once: true });
      const cancelTimer = this.#options.clock.setTimer(durationMs, resolve);
      this.#cancelTimer = cancelTimer;
    });
    const work = Promise.all([this.#askAll(), this.#keepAges(ended)]);
    if (!signal.aborted) await Promise.race([work.then(() => ended), ended]);
    this.#cancelTimer();
    client.close();
    return this.#describe(startedAt, !signal.aborted);
  }

  async #askAll(): Promise<void> {
    const types = listProbeTypes();
    for (const [index, type] of types.entries()) {
      this.#sayProgress(`${index} of ${types.length} questions, now ${type}`);
      if (!(await this.#askOne(type))) return;
      if (type === 'allPerpMetas' || type === 'meta') this.#subscribe();
      if (type === ACCOUNTS_AFTER) await this.#compareAccounts();
    }
    this.#sayProgress('all questions are asked, listening');
  }

  #sayProgress(what: string): void {
    const { clock, durationMs, progress } = this.#options;
    const leftMs = Math.max(0, this.#startMs + durationMs - clock.nowMs());
    progress(`${what}; ${Math.ceil(leftMs / MINUTE_MS)} min left`);
  }

  /** Asks a question; returns false if the probe has ended. */
  async #askOne(type: string): Promise<boolean> {
    const { client, markets, wallMs } = this.#options;
    const [coin] = markets.coins;
    const question = makeProbeQuestion(type, { user: this.#user, coin, nowMs: wallMs() });
    if (question === undefined) return true;
    const answer = await client.ask(question);
    if (answer === undefined) return false;
    this.#rows.set(type, this.#describeAnswer(question, answer));
    return true;
  }

  #describeAnswer(question: QuestionBody, answer: ProbeAnswer): QuestionRow {
    const { error, status, ms, bytes, json } = answer;
    const isAnswered = error === undefined;
    const schema = OWN_TYPES.find(({ type }) => type === question.type)?.answerSchema;
    return {
      question,
      answered: isAnswered ? 'yes' : 'no',
      ...{ status, reason: error?.message, bytes },
      ms: Math.round(ms),
      ageMs: this.#noteAge(question.type, answer),
      form: isAnswered && schema !== undefined ? compareForm(schema, json) : undefined,
      unreadable: isAnswered ? this.#options.markets.take(question.type, json) : undefined,
    };
  }

  /**
   * Notes the age of an answer about an account. Returns the age of an answer; returns undefined if
   * the answer has no time.
   */
  #noteAge(type: string, { json, receivedMs, dateMs }: ProbeAnswer): number | undefined {
    // A Date is rounded down to whole seconds, so it is half a second early on average.
    if (dateMs !== undefined) this.#dateAheadMs = Math.round(dateMs + 500 - receivedMs);
    const time = isJsonObject(json) ? json['time'] : undefined;
    if (typeof time !== 'number' || !Number.isSafeInteger(time)) return undefined;
    if (type === ACCOUNT) {
      this.#ages.byClock.add(receivedMs - time);
      if (dateMs !== undefined) this.#ages.byDate.add(dateMs + 500 - time);
    }
    return Math.round(receivedMs - time);
  }

  #subscribe(): void {
    const { push, markets, user, subscribe } = this.#options;
    const coins = markets.coins.slice(0, TRADED_COINS);
    if (push.wanted.length > 0 || coins.length === 0) return;
    push.addSubscription({ type: 'fastAssetCtxs' });
    push.addSubscription({ type: 'allDexsAssetCtxs' });
    for (const coin of coins) push.addSubscription({ type: 'trades', coin });
    if (user !== undefined) {
      push.addSubscription({ type: 'clearinghouseState', user: this.#user, dex: '' });
      push.addSubscription({ type: 'allDexsClearinghouseState', user: this.#user });
    }
    subscribe(push.wanted);
  }

  async #compareAccounts(): Promise<void> {
    const { client, markets, user } = this.#options;
    if (user === undefined) return;
    const accounts = new ProbeAccounts(client, markets.answers);
    for (const dex of markets.dexes) {
      this.#sayProgress(`comparing the account on ${dex === '' ? 'the first dex' : dex}`);
      this.#accounts.push(await accounts.compare(user, dex));
    }
  }

  async #keepAges(ended: Promise<void>): Promise<void> {
    const { client, clock } = this.#options;
    const question = { type: ACCOUNT, user: this.#user, dex: '' };
    let isOver = false;
    void ended.then(() => {
      isOver = true;
    });
    while (!isOver) {
      let cancelTimer: () => void = () => undefined;
      const pause = new Promise<void>((resolve) => {
        cancelTimer = clock.setTimer(AGE_INTERVAL_MS, resolve);
      });
      await Promise.race([pause, ended]);
      cancelTimer();
      const answer = isOver ? undefined : await client.ask(question);
      if (answer === undefined) return;
      this.#noteAge(ACCOUNT, answer);
    }
  }

  #describe(startedAt: string, isComplete: boolean): ProbeReport {
    const { program, origin: upstream, client, push, budget, clock } = this.#options;
    const { byClock, byDate } = this.#ages;
    return {
      ...{ program, upstream, startedAt, isComplete, user: this.#user },
      seconds: Math.round((clock.nowMs() - this.#startMs) / 1000),
      weight: { spent: client.spent, perMinute: budget },
      questions: listProbeTypes().map((type) => this.#rows.get(type) ?? describeUnasked(type)),
      subscriptions: push.rows,
      accounts: [...this.#accounts],
      ages: { byClock: byClock.spread, byDate: byDate.spread },
      dateAheadMs: this.#dateAheadMs,
      limits: {
        status429: client.refusals,
        pushConnections: push.connections,
        pushMishaps: push.mishaps,
        pushLines: push.lines,
      },
    };
  }
}

function describeUnasked(type: string): QuestionRow {
  const nothing = { status: undefined, reason: undefined, ms: undefined, bytes: undefined };
  const unread = { ageMs: undefined, form: undefined, unreadable: undefined };
  return { question: { type }, answered: 'not asked', ...nothing, ...unread };
}
