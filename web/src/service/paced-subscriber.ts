/**
 * Makes many subscriptions on one push connection. Only a few are in flight at a time. A refused
 * subscription is retried with backoff. While the key's budget is spent, the pace is slow.
 */

import type { Question } from '../figures/answers.ts';
import { describePushError, isAlreadySubscribed, type PushError } from './push-error.ts';
import { retryDelayMs } from './retry-delay.ts';

const PACE_MS = 50;
const ASKED_MAX = 20;
/** A subscription that is not acknowledged within this time is requested again. */
const ASKED_MS_MAX = 30_000;
const RETRY = { firstMs: 2_000, maxMs: 60_000 };
/**
 * The wait is twice as long as the refusal says, so that half of the budget's refill is left to
 * other questions.
 */
const RETRY_AFTER_FACTOR = 2;

interface SubscriberOptions {
  /** A clock that never goes back. */
  nowMs(): number;
  send(method: 'subscribe' | 'unsubscribe', question: Question): void;
  /** Called when a subscription is acknowledged. From now on its answers are pushed. */
  acknowledged(question: Question): void;
  refused(question: Question, reason: string): void;
}

interface Wanted {
  readonly question: Question;
  state: 'waiting' | 'asked' | 'open';
  /** The time at which the subscription was requested, or may be requested. */
  atMs: number;
  failures: number;
}

const nameOf = ({ type, user = '' }: Question): string => `${type} ${user.toLowerCase()}`;

const NO_ANSWER: PushError = { code: '', message: 'the service did not answer' };

export class PacedSubscriber {
  readonly #options: SubscriberOptions;
  /** The subscriptions by name, with the most important ones first. */
  #wanted = new Map<string, Wanted>();
  #isOpen = false;
  #timer: ReturnType<typeof setTimeout> | undefined;
  /** The pause between two subscriptions while the budget is spent; 0 while there is budget. */
  #gapMs = 0;
  #pausedUntilMs = 0;

  constructor(options: SubscriberOptions) {
    this.#options = options;
  }

  /** True if the key's budget does not allow more subscriptions at the moment. */
  get isShort(): boolean {
    return this.#gapMs > 0;
  }

  setWanted(questions: readonly Question[]): void {
    const before = this.#wanted;
    this.#wanted = new Map();
    for (const question of questions) {
      const name = nameOf(question);
      const known = before.get(name);
      this.#wanted.set(name, known ?? { question, state: 'waiting', atMs: 0, failures: 0 });
    }
    for (const [name, { question, state }] of before) {
      if (state !== 'waiting' && !this.#wanted.has(name)) this.#send('unsubscribe', question);
    }
    this.#schedule(0);
  }

  opened(): void {
    this.#isOpen = true;
    this.#reset();
    this.#schedule(0);
  }

  closed(): void {
    this.#isOpen = false;
    this.#reset();
    clearTimeout(this.#timer);
  }

  /** Resets all subscriptions, because a new connection has none. */
  #reset(): void {
    this.#gapMs = 0;
    this.#pausedUntilMs = 0;
    for (const wanted of this.#wanted.values()) {
      wanted.state = 'waiting';
      wanted.atMs = 0;
    }
  }

  acknowledge(question: Question): void {
    const wanted = this.#wanted.get(nameOf(question));
    if (wanted === undefined) return;
    wanted.state = 'open';
    wanted.failures = 0;
    this.#options.acknowledged(wanted.question);
    this.#schedule(PACE_MS);
  }

  refuse(error: PushError): void {
    const { subscription } = error;
    if (subscription === undefined) return;
    const wanted = this.#wanted.get(nameOf(subscription));
    if (isAlreadySubscribed(error)) this.acknowledge(subscription);
    else if (wanted !== undefined) this.#postpone(wanted, error);
  }

  #postpone(wanted: Wanted, error: PushError): void {
    const { retryAfterSeconds } = error;
    const nowMs = this.#options.nowMs();
    wanted.state = 'waiting';
    if (error.code === 'rate_limited' && retryAfterSeconds !== undefined) {
      this.#gapMs = retryAfterSeconds * 1000 * RETRY_AFTER_FACTOR;
      this.#pausedUntilMs = nowMs + this.#gapMs;
      wanted.atMs = 0;
    } else {
      wanted.atMs = nowMs + retryDelayMs(++wanted.failures, RETRY);
    }
    this.#options.refused(wanted.question, describePushError(error));
    this.#schedule(PACE_MS);
  }

  #schedule(delayMs: number): void {
    if (!this.#isOpen) return;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#schedule(this.#ask()), delayMs);
  }

  /**
   * Requests as many subscriptions as the pace allows. Returns the time until the next call, in
   * milliseconds.
   */
  #ask(): number {
    const nowMs = this.#options.nowMs();
    const all = [...this.#wanted.values()];
    for (const wanted of all) {
      const isLost = wanted.state === 'asked' && nowMs - wanted.atMs > ASKED_MS_MAX;
      if (isLost) this.#postpone(wanted, NO_ANSWER);
    }
    const waiting = all.filter(({ state }) => state === 'waiting');
    const asked = all.filter(({ state }) => state === 'asked').length;
    if (waiting.length === 0) this.#gapMs = 0;
    if (waiting.length === 0) return ASKED_MS_MAX;
    if (nowMs < this.#pausedUntilMs) return this.#pausedUntilMs - nowMs;
    const due = waiting.filter(({ atMs }) => atMs <= nowMs);
    const askedMax = this.isShort ? 1 : ASKED_MAX;
    for (const wanted of due.slice(0, Math.max(0, askedMax - asked))) {
      wanted.state = 'asked';
      wanted.atMs = nowMs;
      this.#send('subscribe', wanted.question);
    }
    this.#pausedUntilMs = nowMs + this.#gapMs;
    const nextMs = Math.min(...waiting.map(({ atMs }) => atMs)) - nowMs;
    return Math.max(PACE_MS, this.#gapMs, nextMs);
  }

  #send(method: 'subscribe' | 'unsubscribe', question: Question): void {
    if (this.#isOpen) this.#options.send(method, question);
  }
}
