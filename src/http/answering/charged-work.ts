/**
 * Work that a request pays for before the work starts, and that may take longer than a turn of the
 * event loop. The rules are the same for answers about the past, long answers, account reads and
 * forwarded questions:
 *
 *   - The work is charged in the same turn of the event loop in which the key's budget was checked.
 *   - After a wait, the request is admitted again. If its key was revoked during the wait, the
 *     result is dropped, and the charge stays.
 *   - If the work ends without an answer, the weight of the work that was not done is refunded.
 */

import type { Admission } from '../../access/admission.ts';
import type { Key } from '../../access/keys.ts';
import type { Prepayment } from '../../access/prepayment.ts';
import { RequestError } from '../../info/request-error.ts';
import { Reply } from '../message/reply.ts';
import type { RequestHead } from '../message/request-head.ts';
import { AnswerFailure } from './answer-failure.ts';
import { CancelledAnswer } from './cancellation.ts';
import type { Refusals } from './refusals.ts';
import type { RequestingClient } from './requesting-client.ts';

/** A request whose key and question are known. */
export interface AdmittedRequest {
  readonly head: RequestHead;
  readonly client: RequestingClient;
  readonly key: Key;
  readonly question: { readonly type: string; readonly weight: number };
  /**
   * True if the transport renders the reply immediately. The answer may then be a range of the
   * cache, which is not copied.
   */
  readonly isRenderedAtOnce: boolean;
  /** Undefined before the work is charged. */
  readonly payment: Prepayment | undefined;
}

export type ChargedRequest<R extends AdmittedRequest> = R & { readonly payment: Prepayment };

/** The result of the work: an answer, or the reason why there is no answer. */
type Outcome<T> = T | RequestError | CancelledAnswer;

/** Makes the reply from the answer. Returns a refusal if the answer can no longer be sent. */
type MakeReply<R, T> = (answer: T, request: R) => Reply | RequestError | Promise<Reply>;

export class ChargedWork {
  readonly #admission: Admission;
  readonly #refusals: Refusals;

  constructor(admission: Admission, refusals: Refusals) {
    this.#admission = admission;
    this.#refusals = refusals;
  }

  /** Charges the question's weight, unless the request has been charged before. */
  charge<R extends AdmittedRequest>(request: R): ChargedRequest<R> {
    const { key, question } = request;
    const payment = request.payment ?? this.#admission.payFirst(key, question.weight);
    return { ...request, payment };
  }

  /**
   * Makes the reply from the outcome of the work. If an answer is not sent, `drop` is called with
   * the answer.
   */
  finish<R extends AdmittedRequest, T extends object | undefined>(
    request: ChargedRequest<R>,
    outcome: Outcome<T> | Promise<Outcome<T>>,
    makeReply: MakeReply<ChargedRequest<R>, T>,
    drop: (answer: T) => void = () => undefined,
  ): Reply | Promise<Reply> {
    if (!(outcome instanceof Promise)) return this.#settle(request, outcome, makeReply);
    return outcome.then(async (late) => {
      const reply = await this.resume(request, (resumed) => this.#settle(resumed, late, makeReply));
      if (reply.refusal !== undefined && !isUnanswered(late)) drop(late);
      return reply;
    });
  }

  #settle<R extends AdmittedRequest, T extends object | undefined>(
    request: ChargedRequest<R>,
    outcome: Outcome<T>,
    makeReply: MakeReply<ChargedRequest<R>, T>,
  ): Reply | Promise<Reply> {
    const { payment } = request;
    if (outcome instanceof CancelledAnswer) {
      payment.workedOff = Math.max(payment.workedOff, outcome.workedOff(payment.weight));
      return this.refuse(outcome.refusal, request);
    }
    const reply = outcome instanceof RequestError ? outcome : makeReply(outcome, request);
    return reply instanceof RequestError ? this.refuse(reply, request) : reply;
  }

  /**
   * Continues a request after a wait. The request is refused if the key was revoked during the
   * wait. A request that is not charged yet is also refused if the budget was spent during the
   * wait, or if the client is gone.
   */
  resume<R extends AdmittedRequest>(
    request: R,
    next: (resumed: R) => Reply | Promise<Reply>,
  ): Reply | Promise<Reply> {
    const { head, client, question, payment } = request;
    const key = this.#refusals.admitHead(head, client);
    if (key instanceof Reply) return key;
    const resumed: R = { ...request, key, isRenderedAtOnce: false };
    const refusal =
      payment === undefined
        ? (client.cancellation.refusal ?? this.#admission.findShortage(key, question.weight))
        : undefined;
    if (refusal !== undefined) return this.refuse(refusal, resumed);
    try {
      return next(resumed);
    } catch (error) {
      if (error instanceof RequestError) return this.refuse(error, resumed);
      throw new AnswerFailure(error, { type: question.type, keyId: key.id });
    }
  }

  /** Refuses a request, and refunds the charge for work that was not done. */
  refuse(refusal: RequestError, { client, key, question, payment }: AdmittedRequest): Reply {
    return this.#refusals.refuse(refusal, { client, key, type: question.type, payment });
  }
}

function isUnanswered<T>(outcome: Outcome<T>): outcome is RequestError | CancelledAnswer {
  return outcome instanceof RequestError || outcome instanceof CancelledAnswer;
}
