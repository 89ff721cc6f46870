/** A client of a worker. It asks random questions, and compares every reply with the truth. */

import { AnswerFailure } from '../../../src/http/answering/answer-failure.ts';
import { Cancellation } from '../../../src/http/answering/cancellation.ts';
import { BodySource } from '../../../src/http/answering/question-source.ts';
import type { Reply } from '../../../src/http/message/reply.ts';
import { HEALTHY_HEAD_UNKNOWN } from '../../../src/replica/live-state.ts';
import { withoutTime } from '../../harness/without-time.ts';
import type { Question } from '../../naive-twin/naive-answers.ts';
import type { Judge } from './judge.ts';
import type { KeyDesk, KnownSecret } from './key-desk.ts';
import type { Machine } from './machine.ts';
import { ASKED_USERS, type TrueBlock, type Truth } from './truth.ts';
import { MAX_AGE_MS, type Worker } from './worker.ts';

const DEXES = ['', 'xyz'];
/**
 * This long after its revocation, a key gets no answers; this long after its creation, a new key
 * gets answers.
 */
const KEY_CHANGE_MS = 100;
const UNKNOWN_SECRET = 'nobody-has-this-secret';

export interface ClientParts {
  readonly machine: Machine;
  readonly truth: Truth;
  readonly judge: Judge;
  readonly desk: KeyDesk;
  readonly worker: Worker;
}

interface Asked {
  readonly question: Question;
  readonly key: KnownSecret | undefined;
  readonly minHeight: number;
  /** The tag that was sent, and the answer to which the tag belongs. */
  readonly known: KnownAnswer | undefined;
}

interface KnownAnswer {
  readonly tag: string;
  readonly text: string;
}

export class Client {
  readonly #parts: ClientParts;
  readonly #client = { probeCount: 0, cancellation: new Cancellation() };
  readonly #known = new Map<string, KnownAnswer>();
  #height = 0;

  constructor(parts: ClientParts) {
    this.#parts = parts;
  }

  /** Asks one question, drawn at random. */
  ask(): void {
    const { random } = this.#parts.machine.kernel;
    const key = random.chance(0.97) ? random.pick(this.#parts.desk.secrets) : undefined;
    const minHeight = random.chance(0.1) ? this.#height + random.below(3) : 0;
    this.#send(this.#drawQuestion(), key, { isPoll: random.chance(0.5), minHeight });
  }

  /** Asks all questions with a valid key. All questions must be answered. */
  askAll(key: KnownSecret): void {
    for (const question of allQuestions()) {
      this.#send(question, key, { isPoll: false, minHeight: 0, mustAnswer: true });
    }
  }

  #drawQuestion(): Question {
    return this.#parts.machine.kernel.random.pick(QUESTIONS);
  }

  #send(
    question: Question,
    key: KnownSecret | undefined,
    terms: { isPoll: boolean; minHeight: number; mustAnswer?: boolean },
  ): void {
    const { isPoll, minHeight, mustAnswer = false } = terms;
    const { answers } = this.#parts.worker;
    const known = isPoll ? this.#known.get(nameOf(question)) : undefined;
    const asked: Asked = { question, key, minHeight, known };
    const path = `/${key?.secret ?? UNKNOWN_SECRET}/info`;
    const query = new URLSearchParams(question as never).toString();
    const head = answers.readHead({
      method: isPoll ? 'GET' : 'POST',
      target: isPoll ? `${path}?${query}` : path,
      headers: {
        'content-type': 'application/json',
        ...(minHeight > 0 && { 'ledger-min-height': `${minHeight}` }),
        ...(known && { 'if-none-match': known.tag }),
      },
    });
    const body = new BodySource(Buffer.from(JSON.stringify(question)));
    try {
      const reply = answers.answer(head, this.#client, isPoll ? undefined : body);
      if (reply instanceof Promise) void reply.then((late) => this.#judge(asked, late, mustAnswer));
      else this.#judge(asked, reply, mustAnswer);
    } catch (error) {
      // A process that was killed in the meantime ends here.
      if (!(error instanceof AnswerFailure)) throw error;
      this.#parts.judge.violate(
        `no answer: ${nameOf(question)}, ${(error.cause as Error).message}`,
      );
    }
  }

  #judge(asked: Asked, reply: Reply, mustAnswer: boolean): void {
    const { machine, judge } = this.#parts;
    const { status, height } = reply;
    machine.kernel.trace(`${status} ${height} ${nameOf(asked.question)}`);
    judge.count(`replies ${status}`);
    if (status >= 500 && status !== 503) judge.violate(`a reply ${status}`);
    this.#judgeKey(asked, reply);
    if (status === 200) this.#judgeAnswer(asked, reply);
    else if (status === 304) this.#judgeUnchanged(asked, reply);
    else if (mustAnswer) this.#judgeRefusal(asked, reply);
  }

  #judgeKey({ key }: Asked, reply: Reply): void {
    const { machine, judge } = this.#parts;
    const { nowMs, current } = machine.kernel;
    const isTaken = reply.status !== 401;
    const isRevoked = key === undefined || key.revokedMs !== undefined;
    // A process that was paused notices a change only after the pause.
    const changedMs = Math.max(key?.revokedMs ?? key?.createdMs ?? 0, current.resumedMs);
    const sinceMs = nowMs - changedMs;
    if (key?.isUncertain === true || sinceMs < KEY_CHANGE_MS) return;
    if (isTaken && isRevoked) judge.violate(`a ${key ? 'revoked' : 'made up'} key was taken`);
    if (!isTaken && !isRevoked) judge.violate('a key that works was refused');
    if (reply.status < 400 && key !== undefined) judge.count(`answers for ${key.id}`);
  }

  #judgeAnswer({ question, minHeight }: Asked, reply: Reply): void {
    const { judge, truth } = this.#parts;
    const text = reply.body.toString();
    const block = this.#judgePosition(reply, minHeight);
    if (block === undefined) return;
    const isRight = judge
      .possible(reply.height)
      .some((possible) => truth.answer(possible, question) === text);
    if (!isRight) {
      const expected = truth.answer(block, question) ?? 'a refusal';
      judge.violate(`wrong at ${reply.height}: ${nameOf(question)} ${text}, not ${expected}`);
    }
    if (reply.tag !== undefined) this.#known.set(nameOf(question), { tag: reply.tag, text });
  }

  #judgeUnchanged({ question, known, minHeight }: Asked, reply: Reply): void {
    const { judge, truth } = this.#parts;
    if (this.#judgePosition(reply, minHeight) === undefined) return;
    const expected = known && withoutTime(known.text);
    const isRight = judge.possible(reply.height).some((possible) => {
      const text = truth.answer(possible, question);
      return text !== undefined && withoutTime(text) === expected;
    });
    if (!isRight) judge.violate(`304 at ${reply.height}, but ${nameOf(question)} has changed`);
  }

  /**
   * Returns the block that the reply names; returns undefined if there is no such block, which is a
   * violation.
   */
  #judgePosition({ height, time }: Reply, minHeight: number): TrueBlock | undefined {
    const { judge, worker, machine } = this.#parts;
    const block = judge.possible(height).find((possible) => possible.time === time);
    if (block === undefined)
      judge.violate(`an answer of height ${height}, time ${time}: no such block`);
    if (height < this.#height) judge.violate(`height ${height} after ${this.#height}`);
    if (height < minHeight) judge.violate(`height ${height} where ${minHeight} was asked for`);
    const ageMs = Math.abs(machine.kernel.clockMs - time);
    if (worker.refusesStale && ageMs > MAX_AGE_MS) judge.violate(`an answer ${ageMs} ms old`);
    this.#height = Math.max(this.#height, height);
    return block;
  }

  /**
   * Judges a refusal. After a run, an answer may be refused only if the ledger does not have the
   * data, or if the budget is spent.
   */
  #judgeRefusal({ question }: Asked, { status, refusal }: Reply): void {
    const { judge, truth, worker } = this.#parts;
    const height = worker.live.state?.height ?? 0;
    const isUnknown = judge
      .possible(height)
      .some((block) => truth.answer(block, question) === undefined);
    const isUnlisted = refusal?.message.startsWith('dex: got ') === true;
    if (isUnknown && (status === 503 || (status === 422 && isUnlisted))) return;
    judge.violate(`not answered after all: ${status} ${refusal?.message}`);
  }

  /**
   * The service may report that it is healthy only if its newest block is recent and is the newest
   * block of the ledger.
   */
  async judgeHealth({ mustBeWell = false } = {}): Promise<void> {
    const { machine, judge, worker } = this.#parts;
    const acknowledged = judge.acknowledgedHeight;
    const health = await worker.live.health(machine.kernel.clockMs);
    judge.count(`health ${health.status}`);
    if (mustBeWell && health.status !== 'ok') {
      judge.violate(`not well after all: ${health.status}, ${health.message}`);
    }
    if (health.status !== 'ok') return;
    if (health.height < acknowledged && health.message !== HEALTHY_HEAD_UNKNOWN) {
      judge.violate(`well at ${health.height}, but ${acknowledged} was acknowledged before`);
    }
    const ageMs = Math.abs(machine.kernel.clockMs - health.time);
    // The check itself takes some time.
    if (ageMs > MAX_AGE_MS + 1_000) judge.violate(`called fresh at an age of ${ageMs} ms`);
  }
}

function nameOf(question: Question): string {
  return Object.values(question).join(' ');
}

function allQuestions(): Question[] {
  return [
    ...ASKED_USERS.flatMap((user) => [
      ...DEXES.map((dex): Question => ({ type: 'clearinghouseState', user, dex })),
      { type: 'delegations', user } as const,
    ]),
    { type: 'perpDeployAuctionStatus' },
  ];
}

const QUESTIONS: readonly Question[] = allQuestions();
