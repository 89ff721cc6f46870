/**
 * Answers from the newest state: immediately, or after a wait for a height, an account, or a long
 * answer.
 */

import type { Admission } from '../../access/admission.ts';

import type { StateQuestion } from '../../info/question.ts';
import { RequestError } from '../../info/request-error.ts';
import { requireKnown, type UpstreamAnswers } from '../../info/upstream-answers.ts';
import type { LiveState } from '../../replica/live-state.ts';
import type { StateView } from '../../state/state.ts';
import { entityTag, namesTag } from '../message/entity-tag.ts';
import { Reply } from '../message/reply.ts';
import type { HttpSettings } from '../settings.ts';
import type { AccountReads } from './account-reads.ts';
import type { AdmittedRequest, ChargedWork } from './charged-work.ts';
import { InFlightLimit } from './limits/in-flight-limit.ts';
import { isLong, type LongAnswer, type LongAnswers, type LongQuestion } from './long-answers.ts';
import type { QuestionHead } from './question-head.ts';
import type { Readiness } from './readiness.ts';
import { RowAnswerCaches } from './row-answer-cache.ts';

/**
 * Maximum number of requests of one key that wait for a height. replica/live-state.ts limits the
 * waiting requests of all keys.
 */
const KEY_WAITS_MAX = 8_192;

/** A request for an answer from the state. */
export interface PresentRequest extends AdmittedRequest {
  readonly head: QuestionHead;
  readonly question: StateQuestion;
  /** The exchange's answers that were read for the request; undefined if no subject was read. */
  readonly upstreamAnswers: UpstreamAnswers | undefined;
}

export interface PresentAnswersParts {
  readonly live: LiveState;
  readonly admission: Admission;
  readonly work: ChargedWork;
  readonly reads: AccountReads;
  readonly readiness: Readiness;
  readonly longAnswers: LongAnswers;
  readonly settings: Pick<HttpSettings, 'minHeightWait'>;
}

export class PresentAnswers {
  readonly #parts: PresentAnswersParts;
  readonly #rowAnswers = new RowAnswerCaches();
  readonly #waits = new InFlightLimit({
    what: 'requests that wait for a height',
    countMax: Number.POSITIVE_INFINITY,
    keyCountMax: KEY_WAITS_MAX,
  });

  constructor(parts: PresentAnswersParts) {
    this.#parts = parts;
  }

  answer(request: PresentRequest): Reply | Promise<Reply> {
    const { live, settings } = this.#parts;
    const { head, key, question } = request;
    const { state } = live;
    if (state !== undefined) question.validate(state);
    const shortage = this.#parts.admission.findShortage(key, question.weight);
    if (shortage !== undefined) return this.#parts.work.refuse(shortage, request);
    if (state === undefined || state.height >= head.minHeight) {
      return this.#answerNow(request, state?.isPartial);
    }
    const { cancellation } = request.client;
    const refusal = cancellation.refusal ?? this.#waits.findShortage(key.id);
    if (refusal !== undefined) return this.#parts.work.refuse(refusal, request);
    this.#waits.take(key.id);
    return live.waitFor(head.minHeight, settings.minHeightWait, cancellation).then(() => {
      this.#waits.release(key.id);
      return this.#parts.work.resume(request, (resumed) =>
        this.#answerNow(resumed, live.state?.isPartial),
      );
    });
  }

  #answerNow(request: PresentRequest, isPartial = false): Reply | Promise<Reply> {
    return isPartial ? this.#answerPartial(request) : this.#finish(request);
  }

  /**
   * Answers from a partial ledger. If accounts of the question are unknown or too old, they are
   * read first.
   */
  #answerPartial(request: PresentRequest): Reply | Promise<Reply> {
    const { head, client, key, question } = request;
    const state = this.#parts.readiness.findState(head.minHeight);
    if (state instanceof RequestError) return this.#parts.work.refuse(state, request);
    const overload = this.#parts.readiness.findOverload();
    if (overload !== undefined) return this.#parts.work.refuse(overload, request);
    const requester = { keyId: key.id, cancellation: client.cancellation };
    const reading = this.#parts.reads.read(
      state,
      question.subjects(state),
      requester,
      head.accountAgeMsMax,
    );
    if (reading === undefined) return this.#finish(request);
    const charged = this.#parts.work.charge(request);
    const read = reading.then(({ upstreamAnswers, wasAsked }) => {
      charged.payment.isDone = wasAsked;
      return upstreamAnswers;
    });
    return this.#parts.work.finish(
      charged,
      read,
      (upstreamAnswers, resumed) =>
        client.cancellation.refusal ?? this.#finish({ ...resumed, upstreamAnswers }),
    );
  }

  #finish(request: PresentRequest): Reply | Promise<Reply> {
    const state = this.#parts.readiness.findState(request.head.minHeight);
    if (state instanceof RequestError) return this.#parts.work.refuse(state, request);
    const overload = this.#parts.readiness.findOverload();
    if (overload !== undefined) return this.#parts.work.refuse(overload, request);
    const isPoll = request.head.question !== undefined;
    return isPoll ? this.#replyToPoll(request, state) : this.#replyWhole(request, state);
  }

  #replyWhole(request: PresentRequest, state: StateView): Reply | Promise<Reply> {
    const { question } = request;
    return isLong(question) ? this.#replyInPieces(request, question) : this.#reply(request, state);
  }

  #replyInPieces(request: PresentRequest, question: LongQuestion): Reply | Promise<Reply> {
    const { work, longAnswers, readiness } = this.#parts;
    const { key, client } = request;
    const shortage = longAnswers.findShortage(key.id);
    if (shortage !== undefined) return work.refuse(shortage, request);
    const charged = work.charge(request);
    const pay = (surcharge: number) => charged.payment.add(surcharge);
    const requester = { keyId: key.id, cancellation: client.cancellation, pay };
    return work.finish(
      charged,
      longAnswers.write(question, request.upstreamAnswers, requester),
      (answer, resumed) => {
        const state = readiness.findState();
        if (state instanceof RequestError) return state;
        return this.#longReply(resumed, state, answer as LongAnswer);
      },
      (answer) => answer?.release(true),
    );
  }

  #longReply(request: PresentRequest, state: StateView, answer: LongAnswer): Reply {
    const reply = this.#chargedReply(200, request, state);
    // An answer that contains data of the exchange has no ledger position: its height is then -1.
    if (reply.height >= 0) {
      reply.height = answer.height;
      reply.time = answer.time;
    }
    reply.body = answer.bytes;
    reply.releaseBody = answer.release;
    const isTagged =
      request.head.question !== undefined && request.upstreamAnswers?.isEmpty !== false;
    if (isTagged) reply.tag = tagOfLong(request.question, state, answer);
    return reply;
  }

  #reply(request: PresentRequest, state: StateView): Reply {
    const answer = this.#rowAnswers.answer(request.question, state, request.upstreamAnswers);
    const reply = this.#chargedReply(200, request, state);
    reply.body = request.isRenderedAtOnce ? answer : answer.toString();
    return reply;
  }

  /** Returns the answer, or a 304 if the client already has the answer. */
  #replyToPoll(request: PresentRequest, state: StateView): Reply | Promise<Reply> {
    const { question, head, upstreamAnswers } = request;
    // The exchange's answers are not recorded, so it is unknown whether they have changed.
    if (upstreamAnswers?.isEmpty === false) return this.#replyWhole(request, state);
    // A question about unknown accounts is refused, even if the client has an earlier answer about
    // them.
    if (state.isPartial) requireKnown(state, question.subjects(state), upstreamAnswers);
    const tag = entityTag(state, question.type, question.changedAt(state));
    const isUnchanged = namesTag(head.ifNoneMatch, tag);
    if (!isUnchanged && isLong(question)) return this.#replyInPieces(request, question);
    const reply = isUnchanged
      ? this.#chargedReply(304, request, state)
      : this.#reply(request, state);
    reply.tag = tag;
    return reply;
  }

  #chargedReply(status: number, request: PresentRequest, state: StateView): Reply {
    const { admission } = this.#parts;
    const { head, key, question, payment, upstreamAnswers } = request;
    const reply = new Reply(status, question.type);
    reply.isPolled = head.question !== undefined;
    reply.allowance =
      payment === undefined ? admission.charge(key, question.weight) : payment.keep();
    reply.height = state.height;
    reply.time = state.time;
    if (state.isPartial) {
      const subjects = question.subjects(state);
      this.#parts.reads.setProvenance(reply, state, subjects, upstreamAnswers);
      this.#parts.reads.noteInterest(state, subjects, key.id);
    }
    return reply;
  }
}

/**
 * Returns the tag of an answer that was written in several turns. If a block was applied in the
 * meantime, it is no longer known since which height the answer has been the same. The tag then
 * uses the height of the answer, which is never too early.
 */
function tagOfLong(question: StateQuestion, state: StateView, { height }: LongAnswer): string {
  const changedAt = state.height === height ? question.changedAt(state) : height;
  return entityTag(state, question.type, changedAt);
}
