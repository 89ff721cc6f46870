/**
 * Turns requests into replies. A reply may be a refusal. All transports use this class: they read
 * bytes, call the class, and render the reply. The transports have no rules about questions, keys
 * or budgets.
 *
 * If a request has several faults, the reply names the first fault in this order: path, method,
 * key, media type, size, JSON, question, budget, missing or stale state, overload. For long
 * questions, the budget is checked before the JSON (length-weights.ts).
 */

import type { Logger } from 'pino';
import type { Admission } from '../../access/admission.ts';
import type { Allowance } from '../../access/budgets.ts';
import type { Key } from '../../access/keys.ts';
import type { Prepayment } from '../../access/prepayment.ts';
import type {
  ArchiveQuestion,
  Question,
  StateQuestion,
  UpstreamQuestion,
} from '../../info/question.ts';
import { RequestError } from '../../info/request-error.ts';
import type { StateView } from '../../state/state.ts';
import { isLengthy } from '../message/parse-limits.ts';
import { Reply } from '../message/reply.ts';
import type { RawHead } from '../message/request-head.ts';
import type { HttpSettings } from '../settings.ts';
import { AccountReads, type AccountReadsParts } from './account-reads.ts';
import { AnswerFailure, describeFailure } from './answer-failure.ts';
import type { Cancellation } from './cancellation.ts';
import { type AdmittedRequest, ChargedWork } from './charged-work.ts';
import type { RequestCounters, WorkCounters } from './counters.ts';
import { Forwarding, type ForwardingParts } from './forwarding.ts';
import { LengthWeights } from './limits/length-weights.ts';
import { RateLimitedLog } from './limits/rate-limited-log.ts';
import {
  type HandledFrame,
  isFrameUnpaid,
  isUnpaid,
  RefusalRateLimit,
} from './limits/refusal-rate-limit.ts';
import { Turns } from './limits/turns.ts';
import { UnsentBytes } from './limits/unsent-bytes.ts';
import { LongAnswers } from './long-answers.ts';
import {
  type HistorySource,
  PastAnswers,
  type PastHealth,
  type PastReply,
} from './past-answers.ts';
import { PresentAnswers } from './present-answers.ts';
import { type QuestionHead, readQuestionHead, withQuestion } from './question-head.ts';
import { LongQuery, type QuerySource, type QuestionSource } from './question-source.ts';
import { Readiness, type ReadinessParts } from './readiness.ts';
import { REFUSED_WEIGHT, Refusals } from './refusals.ts';
import type { RequestingClient } from './requesting-client.ts';

export interface AnswersParts extends ReadinessParts, AccountReadsParts {
  readonly admission: Admission;
  readonly counters: RequestCounters & WorkCounters;
  readonly log: Logger;
  /** The archive; undefined if the service has no archive. */
  readonly history?: HistorySource | undefined;
  readonly settings: ReadinessParts['settings'] &
    AccountReadsParts['settings'] &
    ForwardingParts['settings'] &
    Pick<HttpSettings, 'minHeightWait' | 'bodyBytesMax'>;
}

/**
 * The present before the ledger is replayed. The newest height is then unknown, and every archived
 * height counts as past.
 */
const NO_PRESENT = { height: 0, time: 0 };
/** Texts of this length or more are sent in pieces. */
const LONG_TEXT_LENGTH = 128 << 10;
/** A request whose key is known. */
interface AdmittedHead {
  readonly head: QuestionHead;
  readonly client: RequestingClient;
  readonly key: Key;
}

/** A request that is not charged yet, and whose reply may have to wait. */
const UNCHARGED: Pick<AdmittedRequest, 'isRenderedAtOnce' | 'payment'> = {
  isRenderedAtOnce: false,
  payment: undefined,
};

export class Answers {
  readonly #parts: AnswersParts;
  readonly #log: RateLimitedLog;
  readonly reads: AccountReads;
  readonly lengthWeights: LengthWeights;
  readonly readiness: Readiness;
  readonly turns = new Turns();
  readonly #unsent = new UnsentBytes();
  readonly #forwarding: Forwarding;
  readonly #longAnswers: LongAnswers;
  readonly #refusals: Refusals;
  readonly #work: ChargedWork;
  readonly #present: PresentAnswers;
  readonly #refusalRateLimit = new RefusalRateLimit();
  readonly #past: PastAnswers;

  constructor(parts: AnswersParts) {
    this.#parts = parts;
    this.#log = new RateLimitedLog(parts.log);
    this.reads = new AccountReads(parts);
    this.lengthWeights = new LengthWeights(parts.admission);
    this.readiness = new Readiness(parts);
    this.#forwarding = new Forwarding(parts);
    this.#longAnswers = new LongAnswers({
      turns: this.turns,
      unsent: this.#unsent,
      readState: () => parts.live.state,
      worked: (seconds) => parts.counters.countWork('many_accounts', seconds),
    });
    this.#refusals = new Refusals(parts);
    this.#work = new ChargedWork(parts.admission, this.#refusals);
    const { live, admission, settings } = parts;
    this.#present = new PresentAnswers({
      ...{ live, admission, settings, work: this.#work },
      ...{ reads: this.reads, readiness: this.readiness, longAnswers: this.#longAnswers },
    });
    this.#past = new PastAnswers({
      source: parts.history,
      findLag: () => this.readiness.findLag(),
      ledgerId: () => parts.live.state?.ledgerId,
      turns: this.turns,
      unsent: this.#unsent,
      worked: (seconds) => parts.counters.countWork('past', seconds),
      failed: ({ message }) =>
        this.#log.write('error', { reason: message }, 'the archive cannot be read'),
    });
  }

  /**
   * Returns a promise that resolves when the long answer that is being written is complete; returns
   * undefined if no long answer is being written.
   */
  untilWritten(): Promise<void> | undefined {
    return this.#longAnswers.untilWritten();
  }

  describePast(): PastHealth {
    return this.#past.describe();
  }

  readHead(source: RawHead): QuestionHead {
    const { bodyBytesMax } = this.#parts.settings;
    return readQuestionHead(source, { bodyBytesMax, forwards: this.#forwarding.isOn });
  }

  /** Returns the same head with the question of another query. */
  changeQuery(head: QuestionHead, query: QuerySource): QuestionHead {
    if (head.question === undefined) return head;
    return withQuestion(head, query.readIfShort(this.#forwarding.isOn));
  }

  /** Returns the reply if the head alone decides it; undefined if the body is needed. */
  answerHead(head: QuestionHead, client: RequestingClient): Reply | Promise<Reply> | undefined {
    const admitted = this.#refusals.admitHead(head, client);
    return admitted instanceof Reply ? this.#limitRefusals(admitted, head, client) : undefined;
  }

  /**
   * Returns the reply to a whole request. Returns a promise of the reply if the request has to
   * wait: for a height, for an answer of the exchange, in the queue of long answers, or because the
   * key is refused too often.
   *
   * `source` contains the question, unless the question is in the head. A transport that renders
   * the reply immediately sets `isRenderedAtOnce`; the answer is then not copied out of the cache.
   */
  answer(
    head: QuestionHead,
    client: RequestingClient,
    source?: QuestionSource,
    { isRenderedAtOnce = false } = {},
  ): Reply | Promise<Reply> {
    const reply = this.#answer(head, client, source, isRenderedAtOnce);
    return reply instanceof Promise
      ? reply.then((late) => this.#limitRefusals(late, head, client, { isLate: true }))
      : this.#limitRefusals(reply, head, client);
  }

  #limitRefusals(
    reply: Reply,
    { secretHash }: QuestionHead,
    { cancellation }: RequestingClient,
    { isLate = false } = {},
  ): Reply | Promise<Reply> {
    if (!isUnpaid(reply, isLate)) return reply;
    return this.#refusalRateLimit.pass(reply, secretHash, cancellation);
  }

  #answer(
    head: QuestionHead,
    client: RequestingClient,
    source: QuestionSource | undefined,
    isRenderedAtOnce: boolean,
  ): Reply | Promise<Reply> {
    const key = this.#refusals.admitHead(head, client);
    if (key instanceof Reply) return key;
    const unread = findUnread(head, source);
    if (unread !== undefined && isLengthy(unread.length)) {
      return this.#answerLengthy(unread, { head, client, key }, isRenderedAtOnce);
    }
    const question = unread === undefined ? head.question : this.#read(unread, key);
    return this.#answerQuestion(
      question as Question | RequestError,
      { head, client, key },
      isRenderedAtOnce,
    );
  }

  #answerLengthy(
    source: QuestionSource,
    admitted: AdmittedHead,
    isRenderedAtOnce: boolean,
  ): Reply | Promise<Reply> {
    const { client, key } = admitted;
    const { length } = source;
    const spent = this.lengthWeights.findSpentBudget(key, length);
    if (spent !== undefined) return this.#refusals.refuse(spent, { client, key });
    const question = this.#read(source, key);
    if (question instanceof RequestError)
      return this.#refusals.refuse(question, { client, key, length });
    const { type, weight } = question;
    const isLeast = question.source === 'archive';
    const start = isLeast ? this.#past.weighStart(question) : weight;
    const shortage = this.lengthWeights.findShortage(key, start, length, { isLeast });
    if (shortage !== undefined) return this.#refusals.refuse(shortage, { client, key, type });
    const finish = (reply: Reply) => {
      const charged = reply.refusal === undefined ? weight : REFUSED_WEIGHT;
      return this.lengthWeights.chargeRest(reply, key, charged, length);
    };
    const reply = this.#answerQuestion(question, admitted, isRenderedAtOnce);
    return reply instanceof Promise ? reply.then(finish) : finish(reply);
  }

  #read(source: QuestionSource, { id }: Key): Question | RequestError {
    try {
      return source.read(this.#forwarding.isOn);
    } catch (error) {
      throw new AnswerFailure(error, { type: undefined, keyId: id });
    }
  }

  #answerQuestion(
    question: Question | RequestError | undefined,
    admitted: AdmittedHead,
    isRenderedAtOnce: boolean,
  ): Reply | Promise<Reply> {
    const { head, client, key } = admitted;
    if (question === undefined) throw new Error('a request without a question');
    if (question instanceof RequestError) return this.#refusals.refuse(question, { client, key });
    const { type } = question;
    try {
      if (question.source === 'upstream') return this.#forward(question, admitted);
      if (head.freshnessRefusal !== undefined) {
        return this.#refusals.refuse(head.freshnessRefusal, { client, key, type });
      }
      if (question.source === 'archive') return this.#answerPast(question, admitted);
      const uncharged = { payment: undefined, upstreamAnswers: undefined };
      return this.#present.answer({ head, client, key, question, isRenderedAtOnce, ...uncharged });
    } catch (error) {
      if (error instanceof RequestError) return this.#refusals.refuse(error, { client, key, type });
      throw new AnswerFailure(error, { type, keyId: key.id });
    }
  }

  /** Refuses a request without checking its key. */
  refuseAnyone(refusal: RequestError, client: RequestingClient): Reply {
    return this.#refusals.refuse(refusal, { client });
  }

  /**
   * Refuses a request because of a fault that the transport found. If the key is unknown, the reply
   * is the refusal of the key instead. If the rest of the body was not read, the connection is
   * closed.
   */
  refuse(
    refusal: RequestError,
    head: QuestionHead,
    client: RequestingClient,
    { isUnread = false } = {},
  ): Reply | Promise<Reply> {
    const key = this.#refusals.admitHead(head, client);
    const reply =
      key instanceof Reply ? key : this.#refusals.refuse(refusal, { client, key, isUnread });
    return this.#limitRefusals(reply, head, client);
  }

  /** Counts and logs an unexpected error. The transport then closes the connection. */
  reportFailure(error: unknown): void {
    this.#parts.counters.countFailure();
    this.#log.write('error', describeFailure(error), 'a request failed');
  }

  /** Forwards the question to the exchange. */
  #forward(question: UpstreamQuestion, admitted: AdmittedHead): Reply | Promise<Reply> {
    const { head, client, key } = admitted;
    const { cancellation } = client;
    const request = { ...admitted, question, ...UNCHARGED };
    const refusal =
      cancellation.refusal ??
      this.#parts.admission.findShortage(key, question.weight, 'type') ??
      this.readiness.findOverload() ??
      this.#unsent.findOverload();
    if (refusal !== undefined) return this.#work.refuse(refusal, request);
    const charged = this.#work.charge(request);
    const requester = { keyId: key.id, cancellation };
    const asking = this.#forwarding.ask(question, requester).then(({ answer, wasAsked }) => {
      // The exchange's work cannot be cancelled, so nothing is refunded if the exchange was asked.
      charged.payment.isDone = wasAsked;
      return answer;
    });
    return this.#work.finish(charged, asking, (answer, { payment }) => {
      // The overload is checked again, because many forwarded questions may have passed the first
      // check at the same time.
      const overload = this.#unsent.findOverload();
      if (overload !== undefined) return overload;
      const { bytes } = answer;
      const reply = new Reply(200, question.type);
      reply.isPolled = head.question !== undefined;
      reply.allowance = payment.settle(question.weighAnswer(answer.rows));
      reply.body = bytes.length < LONG_TEXT_LENGTH ? bytes.toString() : bytes;
      return this.#countLongBody(reply);
    });
  }

  /** Answers from the archive. */
  #answerPast(question: ArchiveQuestion, admitted: AdmittedHead): Reply | Promise<Reply> {
    const { head, client, key } = admitted;
    const { admission } = this.#parts;
    const request = { ...admitted, question, ...UNCHARGED };
    const refusal =
      this.#findPastShortage(key, question) ??
      this.readiness.findOverload() ??
      this.#unsent.findOverload();
    if (refusal !== undefined) return this.#work.refuse(refusal, request);
    const charged = this.#work.charge(request);
    const { payment } = charged;
    const pay = (surcharge: number, isStart: boolean) => {
      // Before the start no work is done, so a refusal refunds everything.
      if (isStart) return admission.payStart(key, payment, surcharge);
      const shortage = admission.payMore(key, payment, surcharge);
      // A surcharge pays for work that was done. If the key cannot pay the surcharge, nothing is refunded.
      payment.workedOff = shortage === undefined ? payment.workedOff + surcharge : payment.weight;
      return shortage;
    };
    const present = this.#parts.live.state ?? NO_PRESENT;
    const requester = { keyId: key.id, cancellation: client.cancellation, pay };
    const outcome = this.#past.answer(question, head, present, requester);
    return this.#work.finish(charged, outcome, (answer) =>
      this.#countLongBody(replyAboutPast(answer, head, question.type, payment)),
    );
  }

  /** The error names all of the weight that is known, so that its wait is long enough. */
  #findPastShortage(key: Key, question: ArchiveQuestion): RequestError | undefined {
    const { admission } = this.#parts;
    const shortage = admission.findShortage(key, question.weight);
    if (shortage?.code !== 'rate_limited') return shortage;
    const start = this.#past.weighStart(question);
    return admission.findShortage(key, start, 'type', { isLeast: true }) ?? shortage;
  }

  /** Makes a long body a Buffer, so that it is sent in pieces, and counts its bytes until they are sent. */
  #countLongBody(reply: Reply): Reply {
    const { body } = reply;
    const isText = typeof body === 'string';
    const isLong = isText ? body.length >= LONG_TEXT_LENGTH : Buffer.isBuffer(body);
    if (!isLong) return reply;
    const bytes = isText ? Buffer.from(body) : (body as Buffer);
    reply.body = bytes;
    reply.releaseBody = this.#unsent.add(bytes);
    return reply;
  }

  /** Charges a refusal to the key's budget. Returns what is left of the budget. */
  chargeRefusal(key: Key, refusal: RequestError): Allowance | undefined {
    return this.#refusals.charge(key, refusal);
  }

  /**
   * Limits the frames that the key did not pay for, in the same way as refusals. Returns undefined
   * if the connection's next frame may be handled now; otherwise returns a promise that resolves
   * when the next frame may be handled.
   */
  limitFrames(
    frame: HandledFrame,
    secretHash: string,
    cancellation: Cancellation,
  ): Promise<void> | undefined {
    if (!isFrameUnpaid(frame)) return undefined;
    return this.#refusalRateLimit.waitForTurn(secretHash, cancellation);
  }

  /**
   * Returns the state that a subscription starts from, or the refusal. Overload is not a reason to
   * refuse: when many clients reconnect at the same time, their subscriptions wait. `payer` is
   * undefined if the subscription is already paid.
   */
  admitSubscription(question: StateQuestion, payer?: Key): StateView | RequestError {
    const { live, admission } = this.#parts;
    if (live.state !== undefined) question.validate(live.state);
    const shortage = payer && admission.findShortage(payer, question.weight);
    return shortage ?? this.readiness.findState();
  }
}

/**
 * Returns the source of a question that was not read yet, which is the body or a long query;
 * returns undefined if the question was read.
 */
function findUnread({ question }: QuestionHead, body?: QuestionSource): QuestionSource | undefined {
  if (question === undefined) return body;
  return question instanceof LongQuery ? question : undefined;
}

function replyAboutPast(
  answer: PastReply,
  head: QuestionHead,
  type: string,
  payment: Prepayment,
): Reply {
  const reply = new Reply(answer.body === undefined ? 304 : 200, type);
  reply.isPolled = head.question !== undefined;
  reply.allowance = payment.keep();
  reply.body = answer.body ?? '';
  reply.isCsv = answer.format === 'csv';
  reply.height = answer.height;
  reply.time = answer.time;
  reply.accountTime = answer.accountTime;
  reply.tag = answer.tag;
  reply.isFixed = answer.isFixed;
  return reply;
}
