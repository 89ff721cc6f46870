/**
 * The one way to answer: from a request to its reply, refusals included. Transports read bytes, call
 * this, and render the reply; they have no rules of their own. Of several faults, the reply names the
 * first in this order: path, method, key, media type, size, JSON, question, budget, missing or stale
 * state, overload. The budget comes before the JSON of long questions (length-weights.ts).
 */

import type { Logger } from 'pino';
import { type Admission, NO_KEY, UNKNOWN_KEY } from '../../access/admission.ts';
import type { Allowance } from '../../access/budgets.ts';
import type { Key } from '../../access/keys.ts';
import type { Prepayment } from '../../access/prepayment.ts';
import type { HistoryQuestion } from '../../info/history-question.ts';
import { type Readings, requireKnown } from '../../info/readings.ts';
import { isAboutPast } from '../../info/registry.ts';
import { RequestError } from '../../info/request-error.ts';
import type { StateView } from '../../state/state.ts';
import { entityTag, namesTag } from '../message/entity-tag.ts';
import { isLengthy, weighLength } from '../message/parse-limits.ts';
import { isOurs, refusalReply, replyToPreflight } from '../message/refusal-reply.ts';
import { Reply } from '../message/reply.ts';
import type { RawHead } from '../message/request-head.ts';
import type { HttpSettings } from '../settings.ts';
import { AbandonedAnswer } from './abandonment.ts';
import { AccountAnswers } from './account-answers.ts';
import { AccountReads, type AccountReadsParts } from './account-reads.ts';
import { AnswerFailure, describeFailure } from './answer-failure.ts';
import { BoundedLog } from './bounded-log.ts';
import type { RequestCounters, WorkCounters } from './counters.ts';
import { Forwarding, type ForwardingParts, ForwardRequest } from './forwarding.ts';
import { LengthWeights } from './length-weights.ts';
import {
  isLong,
  type LongAnswer,
  LongAnswers,
  type LongOutcome,
  type LongQuestion,
} from './long-answers.ts';
import {
  type HistorySource,
  PastAnswers,
  type PastHealth,
  type PastOutcome,
  type PastReply,
} from './past-answers.ts';
import { countProbe, type Peer } from './peer.ts';
import { Places } from './places.ts';
import { type QuestionHead, readQuestionHead, withQuestion } from './question-head.ts';
import {
  type AnyQuestion,
  LongQuery,
  type ParsedQuestion,
  type QuerySource,
  type QuestionSource,
} from './question-source.ts';
import { Readiness, type ReadinessParts } from './readiness.ts';
import { isUnpaid, RefusalPace } from './refusal-pace.ts';
import { Turns } from './turns.ts';
import { UnsentBytes } from './unsent-bytes.ts';

export interface AnswersParts extends ReadinessParts, AccountReadsParts {
  readonly admission: Admission;
  readonly counters: RequestCounters & WorkCounters;
  readonly log: Logger;
  /** The archive; undefined if the service keeps none. */
  readonly history?: HistorySource | undefined;
  readonly settings: ReadinessParts['settings'] &
    AccountReadsParts['settings'] &
    ForwardingParts['settings'] &
    Pick<HttpSettings, 'minHeightWait' | 'bodyBytesMax'>;
}

/** Before the ledger is replayed, nothing is known to be later than the archive. */
const NO_PRESENT = { height: 0, time: 0 };
/** Requests of a key that wait for a height: a part of all that may (replica/live-state.ts). */
const KEY_WAITS_MAX = 8_192;
/** Texts of late replies from this length on are sent in pieces. */
const LONG_TEXT_LENGTH = 128 << 10;
/** The weight of a refused question. */
const REFUSED_WEIGHT = 1;
/** The same of a body over the limit: as much is read as of the longest, and it ends the connection. */
const TOO_LARGE_WEIGHT = 20;
/** A request whose key is known. */
interface AdmittedHead {
  readonly head: QuestionHead;
  readonly peer: Peer;
  readonly key: Key;
}

/** What a reply about the past needs of its request. */
interface PaidHead {
  readonly head: QuestionHead;
  readonly type: string;
  readonly payment: Prepayment;
}

/** A request whose key and question are known. */
interface AdmittedRequest extends AdmittedHead {
  readonly question: ParsedQuestion;
  readonly isRenderedAtOnce: boolean;
  /** What takes longer than a turn was paid for before; undefined if nothing has. */
  readonly payment: Prepayment | undefined;
  /** What was read for it; undefined if nothing had to be. */
  readonly readings: Readings | undefined;
}

export class Answers {
  readonly #parts: AnswersParts;
  readonly #log: BoundedLog;
  readonly #accounts = new AccountAnswers();
  readonly reads: AccountReads;
  readonly lengthWeights: LengthWeights;
  readonly readiness: Readiness;
  readonly turns = new Turns();
  readonly #unsent = new UnsentBytes();
  readonly #waits = new Places({
    what: 'requests that wait for a height',
    countMax: Number.POSITIVE_INFINITY,
    keyCountMax: KEY_WAITS_MAX,
  });
  readonly #forwarding: Forwarding;
  readonly #longAnswers: LongAnswers;
  readonly #refusalPace = new RefusalPace();
  readonly #past: PastAnswers;

  constructor(parts: AnswersParts) {
    this.#parts = parts;
    this.#log = new BoundedLog(parts.log);
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
    this.#past = new PastAnswers({
      source: parts.history,
      ledgerId: () => parts.live.state?.ledgerId,
      turns: this.turns,
      unsent: this.#unsent,
      worked: (seconds) => parts.counters.countWork('past', seconds),
      failed: ({ message }) =>
        this.#log.write('error', { reason: message }, 'the archive cannot be read'),
    });
  }

  /** Resolves when no answer about many accounts is half written; undefined if none is. */
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

  /** The head with another query, which asks something else. */
  changeQuery(head: QuestionHead, query: QuerySource): QuestionHead {
    if (head.question === undefined) return head;
    return withQuestion(head, query.readIfShort(this.#forwarding.isOn));
  }

  /** The reply to the head alone; undefined if the body decides. */
  answerHead(head: QuestionHead, peer: Peer): Reply | Promise<Reply> | undefined {
    const admitted = this.#admitHead(head, peer);
    return admitted instanceof Reply ? this.#keepPace(admitted, head, peer) : undefined;
  }

  /**
   * The reply to a whole request, or a promise of it if it has to wait: for a height, for an account or
   * another answer of the exchange, for its turn among long answers, or since its key is refused often.
   * `source` holds the question, unless it is in the head. A transport that renders the reply at once
   * says so, and gets an answer that is not copied out of the ring.
   */
  answer(
    head: QuestionHead,
    peer: Peer,
    source?: QuestionSource,
    { isRenderedAtOnce = false } = {},
  ): Reply | Promise<Reply> {
    const reply = this.#answer(head, peer, source, isRenderedAtOnce);
    return reply instanceof Promise
      ? reply.then((late) => this.#keepPace(late, head, peer, { isLate: true }))
      : this.#keepPace(reply, head, peer);
  }

  #keepPace(
    reply: Reply,
    { secretHash }: QuestionHead,
    { abandonment }: Peer,
    { isLate = false } = {},
  ): Reply | Promise<Reply> {
    if (!isUnpaid(reply, isLate)) return reply;
    return this.#refusalPace.pass(reply, secretHash, abandonment);
  }

  #answer(
    head: QuestionHead,
    peer: Peer,
    source: QuestionSource | undefined,
    isRenderedAtOnce: boolean,
  ): Reply | Promise<Reply> {
    const key = this.#admitHead(head, peer);
    if (key instanceof Reply) return key;
    const unread = findUnread(head, source);
    if (unread !== undefined && isLengthy(unread.length)) {
      return this.#answerLengthy(unread, { head, peer, key }, isRenderedAtOnce);
    }
    const question = unread === undefined ? head.question : this.#read(unread, key);
    return this.#answerQuestion(question as AnyQuestion, { head, peer, key }, isRenderedAtOnce);
  }

  #answerLengthy(
    source: QuestionSource,
    admitted: AdmittedHead,
    isRenderedAtOnce: boolean,
  ): Reply | Promise<Reply> {
    const { peer, key } = admitted;
    const { length } = source;
    const spent = this.lengthWeights.findSpentBudget(key, length);
    if (spent !== undefined) return this.#refuse(spent, { peer, key });
    const question = this.#read(source, key);
    if (question instanceof RequestError) return this.#refuse(question, { peer, key, length });
    const { type, weight } = question;
    const shortage = this.lengthWeights.findShortage(key, weight, length);
    if (shortage !== undefined) return this.#refuse(shortage, { peer, key, type });
    const finish = (reply: Reply) => {
      const charged = reply.refusal === undefined ? weight : REFUSED_WEIGHT;
      return this.lengthWeights.chargeRest(reply, key, charged, length);
    };
    const reply = this.#answerQuestion(question, admitted, isRenderedAtOnce);
    return reply instanceof Promise ? reply.then(finish) : finish(reply);
  }

  #read(source: QuestionSource, { id }: Key): AnyQuestion {
    try {
      return source.read(this.#forwarding.isOn);
    } catch (error) {
      throw new AnswerFailure(error, { type: undefined, keyId: id });
    }
  }

  #answerQuestion(
    question: AnyQuestion | undefined,
    admitted: AdmittedHead,
    isRenderedAtOnce: boolean,
  ): Reply | Promise<Reply> {
    const { head, peer, key } = admitted;
    if (question === undefined) throw new Error('a request without a question');
    if (question instanceof RequestError) return this.#refuse(question, { peer, key });
    const { type } = question;
    try {
      if (question instanceof ForwardRequest) return this.#forward(question, admitted);
      if (head.termsRefusal !== undefined) {
        return this.#refuse(head.termsRefusal, { peer, key, type });
      }
      if (isAboutPast(question)) return this.#answerPast(question, admitted);
      const unpaid = { payment: undefined, readings: undefined };
      return this.#answerAdmitted({ head, peer, key, question, isRenderedAtOnce, ...unpaid });
    } catch (error) {
      if (error instanceof RequestError) return this.#refuse(error, { peer, key, type });
      throw new AnswerFailure(error, { type, keyId: key.id });
    }
  }

  /** Refuses a request before its key is looked at. */
  refuseAnyone(refusal: RequestError, peer: Peer): Reply {
    return this.#refuse(refusal, { peer });
  }

  /**
   * Refuses a request for a fault that its transport found; an unknown key comes first. The connection
   * is closed if the rest of the body is left unread.
   */
  refuse(
    refusal: RequestError,
    head: QuestionHead,
    peer: Peer,
    { isUnread = false } = {},
  ): Reply | Promise<Reply> {
    const key = this.#admitHead(head, peer);
    const reply = key instanceof Reply ? key : this.#refuse(refusal, { peer, key, isUnread });
    return this.#keepPace(reply, head, peer);
  }

  /** Counts and logs a bug of ours; the transport then ends the connection. */
  reportFailure(error: unknown): void {
    this.#parts.counters.countFailure();
    this.#log.write('error', describeFailure(error), 'a request failed');
  }

  #admitHead(head: QuestionHead, peer: Peer): Key | Reply {
    if (head.routeRefusal !== undefined)
      return this.#refuse(head.routeRefusal, { peer, allow: head.allow });
    if (head.method === 'OPTIONS') return replyToPreflight(head);
    if (head.secretHash === '') return this.#refuse(NO_KEY, { peer });
    const key = this.#parts.admission.findKey(head.secretHash);
    if (key === undefined) return this.#refuse(UNKNOWN_KEY, { peer });
    if (head.headRefusal === undefined) return key;
    return this.#refuse(head.headRefusal, { peer, key });
  }

  /** Asks the exchange; the key may be revoked meanwhile. */
  #forward(question: ForwardRequest, { head, peer, key }: AdmittedHead): Reply | Promise<Reply> {
    const { admission } = this.#parts;
    const { type } = question;
    const { abandonment } = peer;
    const shortage = admission.findShortage(key, question.weight, 'type');
    const refusal =
      abandonment.refusal ??
      shortage ??
      this.readiness.findOverload() ??
      this.#unsent.findOverload();
    if (refusal !== undefined) return this.#refuse(refusal, { peer, key, type });
    const payment = admission.payFirst(key, question.weight);
    const requester = { keyId: key.id, abandonment };
    return this.#forwarding.ask(question, requester).then(({ answer, wasAsked }) => {
      const keyNow = this.#admitHead(head, peer);
      if (keyNow instanceof Reply) return keyNow;
      // Many may have been in flight when there was still room for each.
      const outcome = this.#unsent.findOverload() ?? answer;
      if (outcome instanceof RequestError) {
        // Nobody stops the exchange, whether the client is gone or not.
        payment.isDone = wasAsked;
        return this.#refuse(outcome, { peer, key: keyNow, type, payment });
      }
      const { bytes } = outcome;
      const reply = new Reply(200, type);
      reply.isPolled = head.question !== undefined;
      reply.allowance = payment.settle(question.weigh(outcome));
      reply.body = bytes.length < LONG_TEXT_LENGTH ? bytes.toString() : bytes;
      return this.#countLongBody(reply);
    });
  }

  /** Answers from the archive; the key may be revoked while a long series is computed. */
  #answerPast(
    question: HistoryQuestion,
    { head, peer, key }: AdmittedHead,
  ): Reply | Promise<Reply> {
    const { admission } = this.#parts;
    const { type, weight } = question;
    const refusal =
      admission.findShortage(key, weight) ??
      this.readiness.findOverload() ??
      this.#unsent.findOverload();
    if (refusal !== undefined) return this.#refuse(refusal, { peer, key, type });
    const payment = admission.payFirst(key, weight);
    const pay = (surcharge: number) => {
      const shortage = admission.payMore(key, payment, surcharge);
      // A surcharge is for work that was done, and so is all of it where the rest cannot be paid.
      payment.workedOff = payment.weight - (shortage === undefined ? weight : 0);
      return shortage;
    };
    const finish = (answer: PastOutcome, keyNow: Key) => {
      const refused = readRefusal(answer, payment.weight);
      if (refused === undefined) {
        return this.#replyAboutPast(answer as PastReply, { head, type, payment });
      }
      payment.workedOff = Math.max(payment.workedOff, refused.workedOff);
      return this.#refuse(refused.refusal, { peer, key: keyNow, type, payment });
    };
    const present = this.#parts.live.state ?? NO_PRESENT;
    const { abandonment } = peer;
    const answer = this.#past.answer(question, head, present, { keyId: key.id, abandonment, pay });
    if (!(answer instanceof Promise)) return finish(answer, key);
    return answer.then((late) => {
      const keyNow = this.#admitHead(head, peer);
      return keyNow instanceof Reply ? keyNow : this.#countLongBody(finish(late, keyNow));
    });
  }

  #replyAboutPast(answer: PastReply, { head, type, payment }: PaidHead): Reply {
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

  /** Lets a late reply's long body be sent in pieces, and counts it until it is sent. */
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

  #answerAdmitted(request: AdmittedRequest): Reply | Promise<Reply> {
    const { live, settings } = this.#parts;
    const { head, key, question } = request;
    const { state } = live;
    if (state !== undefined) question.validate(state);
    const shortage = this.#parts.admission.findShortage(key, question.weight);
    if (shortage !== undefined) return this.#refuseAdmitted(shortage, request);
    if (state === undefined || state.height >= head.minHeight) {
      return this.#answerNow(request, state?.isPartial);
    }
    const { abandonment } = request.peer;
    const refusal = abandonment.refusal ?? this.#waits.findShortage(key.id);
    if (refusal !== undefined) return this.#refuseAdmitted(refusal, request);
    this.#waits.take(key.id);
    return live.waitFor(head.minHeight, settings.minHeightWait, abandonment).then(() => {
      this.#waits.release(key.id);
      return this.#resume(request, (resumed) => this.#answerNow(resumed, live.state?.isPartial));
    });
  }

  #answerNow(request: AdmittedRequest, isPartial = false): Reply | Promise<Reply> {
    return isPartial ? this.#answerPartial(request) : this.#finish(request);
  }

  /** Reads what the question is about first, if that is unknown or too old. */
  #answerPartial(request: AdmittedRequest): Reply | Promise<Reply> {
    const { head, peer, key, question } = request;
    const state = this.readiness.findState(head.minHeight);
    if (state instanceof RequestError) return this.#refuseAdmitted(state, request);
    const overload = this.readiness.findOverload();
    if (overload !== undefined) return this.#refuseAdmitted(overload, request);
    const requester = { keyId: key.id, abandonment: peer.abandonment };
    const reading = this.reads.read(
      state,
      question.subjects(state),
      requester,
      head.accountAgeMsMax,
    );
    if (reading === undefined) return this.#finish(request);
    // In the turn in which it was found to be affordable.
    const payment = this.#parts.admission.payFirst(key, question.weight);
    return reading.then(({ readings, wasAsked }) => {
      payment.isDone = wasAsked;
      return this.#resume({ ...request, readings, payment }, (resumed) => {
        const { refusal } = peer.abandonment;
        return refusal === undefined
          ? this.#finish(resumed)
          : this.#refuseAdmitted(refusal, resumed);
      });
    });
  }

  /**
   * During the wait the key may have been revoked or, if nothing is paid yet, its budget spent, or the
   * client may be gone.
   */
  #resume(
    request: AdmittedRequest,
    work: (resumed: AdmittedRequest) => Reply | Promise<Reply>,
  ): Reply | Promise<Reply> {
    const { head, peer, question, payment } = request;
    const key = this.#admitHead(head, peer);
    if (key instanceof Reply) return key;
    const refusal =
      payment === undefined
        ? (peer.abandonment.refusal ?? this.#parts.admission.findShortage(key, question.weight))
        : undefined;
    if (refusal !== undefined) return this.#refuseAdmitted(refusal, { ...request, key });
    try {
      return work({ ...request, key, isRenderedAtOnce: false });
    } catch (error) {
      if (error instanceof RequestError) return this.#refuseAdmitted(error, { ...request, key });
      throw new AnswerFailure(error, { type: question.type, keyId: key.id });
    }
  }

  #finish(request: AdmittedRequest): Reply | Promise<Reply> {
    const state = this.readiness.findState(request.head.minHeight);
    if (state instanceof RequestError) return this.#refuseAdmitted(state, request);
    const overload = this.readiness.findOverload();
    if (overload !== undefined) return this.#refuseAdmitted(overload, request);
    const isPoll = request.head.question !== undefined;
    return isPoll ? this.#replyToPoll(request, state) : this.#replyWhole(request, state);
  }

  #replyWhole(request: AdmittedRequest, state: StateView): Reply | Promise<Reply> {
    const { question } = request;
    return isLong(question) ? this.#replyInPieces(request, question) : this.#reply(request, state);
  }

  #replyInPieces(request: AdmittedRequest, question: LongQuestion): Reply | Promise<Reply> {
    const { key, peer } = request;
    const shortage = this.#longAnswers.findShortage(key.id);
    if (shortage !== undefined) return this.#refuseAdmitted(shortage, request);
    const payment = request.payment ?? this.#parts.admission.payFirst(key, question.weight);
    const paid = { ...request, payment };
    const requester = { keyId: key.id, abandonment: peer.abandonment };
    return this.#longAnswers.write(question, request.readings, requester).then(async (answer) => {
      const reply = await this.#resume(paid, (resumed) => this.#finishLong(resumed, answer));
      if (reply.refusal !== undefined && answer !== undefined && 'release' in answer) {
        answer.release(true);
      }
      return reply;
    });
  }

  #finishLong(request: AdmittedRequest, answer: LongOutcome): Reply {
    const state = this.readiness.findState();
    const refused =
      readRefusal(answer, request.question.weight) ?? readRefusal(state, request.question.weight);
    if (refused === undefined) {
      return this.#longReply(request, state as StateView, answer as LongAnswer);
    }
    if (request.payment !== undefined) request.payment.workedOff = refused.workedOff;
    return this.#refuseAdmitted(refused.refusal, request);
  }

  #longReply(request: AdmittedRequest, state: StateView, answer: LongAnswer): Reply {
    const reply = this.#chargedReply(200, request, state);
    // Of an answer with parts of the exchange's own, it says neither.
    if (reply.height >= 0) {
      reply.height = answer.height;
      reply.time = answer.time;
    }
    reply.body = answer.bytes;
    reply.releaseBody = answer.release;
    const isTagged = request.head.question !== undefined && request.readings?.isEmpty !== false;
    if (isTagged) reply.tag = tagOfLong(request.question, state, answer);
    return reply;
  }

  #reply(request: AdmittedRequest, state: StateView): Reply {
    const answer = request.question.answer(state, request.readings, this.#accounts);
    const reply = this.#chargedReply(200, request, state);
    reply.body = request.isRenderedAtOnce ? answer : answer.toString();
    return reply;
  }

  /** The answer, or a 304 if the client has it already. */
  #replyToPoll(request: AdmittedRequest, state: StateView): Reply | Promise<Reply> {
    const { question, head, readings } = request;
    // The exchange's own answers are not recorded, so nobody knows since when they have been the same.
    if (readings?.isEmpty === false) return this.#replyWhole(request, state);
    // What a partial ledger does not hold is refused, whatever the client has of it.
    if (state.isPartial) requireKnown(state, question.subjects(state), readings);
    const tag = entityTag(state, question.type, question.changedAt(state));
    const isUnchanged = namesTag(head.ifNoneMatch, tag);
    if (!isUnchanged && isLong(question)) return this.#replyInPieces(request, question);
    const reply = isUnchanged
      ? this.#chargedReply(304, request, state)
      : this.#reply(request, state);
    reply.tag = tag;
    return reply;
  }

  #chargedReply(status: number, request: AdmittedRequest, state: StateView): Reply {
    const { admission } = this.#parts;
    const { head, key, question, payment, readings } = request;
    const reply = new Reply(status, question.type);
    reply.isPolled = head.question !== undefined;
    reply.allowance =
      payment === undefined ? admission.charge(key, question.weight) : payment.keep();
    reply.height = state.height;
    reply.time = state.time;
    if (state.isPartial) {
      const subjects = question.subjects(state);
      this.reads.setProvenance(reply, state, subjects, readings);
      this.reads.noteInterest(state, subjects, key.id);
    }
    return reply;
  }

  /**
   * The state that a subscription starts from, or why it is refused. Overload is no reason: clients
   * that reconnect all at once just wait until it passes. No payer if it is paid already.
   */
  admitSubscription(question: ParsedQuestion, payer?: Key): StateView | RequestError {
    const { live, admission } = this.#parts;
    if (live.state !== undefined) question.validate(live.state);
    const shortage = payer && admission.findShortage(payer, question.weight);
    return shortage ?? this.readiness.findState();
  }

  /**
   * Charges a refusal to the key's budget. Our own limits and failures are free, but not a wait for a
   * height that did not come: the client chose it, and it took up a place. Work that was done and paid
   * for is not charged twice.
   */
  chargeRefusal(
    key: Key,
    refusal: RequestError,
    { payment, length = 0 }: Pick<Refused, 'payment' | 'length'> = {},
  ): Allowance | undefined {
    const isFree = isOurs(refusal) || payment?.isDone === true;
    const weight =
      refusal.code === 'body_too_large'
        ? TOO_LARGE_WEIGHT
        : Math.max(REFUSED_WEIGHT, weighLength(length));
    return this.#parts.admission.chargeWhatIsLeft(key, isFree ? 0 : weight);
  }

  #refuseAdmitted(refusal: RequestError, request: AdmittedRequest): Reply {
    const { peer, key, question, payment } = request;
    // An answer that is too long to be written between blocks has been begun several times.
    if (payment !== undefined && refusal.field === 'users') payment.isDone = true;
    return this.#refuse(refusal, { peer, key, type: question.type, payment });
  }

  #refuse(refusal: RequestError, refused: Refused): Reply {
    const { peer, key, type, allow, payment, isUnread = false } = refused;
    const { code } = refusal;
    const reply = refusalReply(refusal, type);
    if (code === 'method_not_allowed') reply.allow = allow;
    payment?.giveBack();
    if (key !== undefined) reply.allowance = this.chargeRefusal(key, refusal, refused);
    reply.isLast = isUnread || code === 'body_too_large' || countProbe(code, peer);
    const state = code === 'behind' ? this.#parts.live.state : undefined;
    if (state !== undefined) {
      reply.height = state.height;
      reply.time = state.time;
    }
    return reply;
  }
}

/** The question if it has yet to be read: in the body, or a long query. */
function findUnread({ question }: QuestionHead, body?: QuestionSource): QuestionSource | undefined {
  if (question === undefined) return body;
  return question instanceof LongQuery ? question : undefined;
}

/**
 * The tag of an answer that took several turns. If a block has come since, nobody knows any more how long
 * the answer had been the same: its own height is never too early.
 */
function tagOfLong(question: ParsedQuestion, state: StateView, { height }: LongAnswer): string {
  const changedAt = state.height === height ? question.changedAt(state) : height;
  return entityTag(state, question.type, changedAt);
}

/** Why there is no answer, and how much of its weight was worked off; undefined if there is one. */
function readRefusal(
  outcome: object | undefined,
  weight: number,
): { refusal: RequestError; workedOff: number } | undefined {
  if (outcome instanceof RequestError) return { refusal: outcome, workedOff: 0 };
  if (!(outcome instanceof AbandonedAnswer)) return undefined;
  return { refusal: outcome.refusal, workedOff: outcome.workedOff(weight) };
}

/** What is known of a request that is refused. */
interface Refused {
  readonly peer: Peer;
  readonly allow?: string;
  readonly key?: Key;
  readonly type?: string | undefined;
  readonly payment?: Prepayment | undefined;
  /** The length of a long question that was read, in bytes. */
  readonly length?: number;
  /** The rest of the body is not read. */
  readonly isUnread?: boolean;
}
