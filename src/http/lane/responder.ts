/**
 * From the bytes of a question to the text of its response. The question that is asked most is read
 * from its bytes and answered from the ring of answers; all others go through the registry.
 */

import type { Key } from '../../access/keys.ts';
import type { Settings } from '../../config/settings.ts';
import { readAccountQuestion } from '../../info/account-question.ts';
import { clearinghouseState } from '../../info/clearinghouse.ts';
import { parseQuestion } from '../../info/registry.ts';
import { findAccount } from '../../state/accounts.ts';
import type { StateView } from '../../state/state.ts';
import { AccountAnswers } from '../account-answers.ts';
import type { Admission } from '../admission.ts';
import { parseBody } from '../body.ts';
import { ResponseHead } from './response-head.ts';

export interface ResponderParts {
  readonly admission: Admission;
  readonly settings: Settings<'idleTimeout'>;
}

const FIRST_DEX = 0;

export class Responder {
  readonly #admission: Admission;
  readonly #head: ResponseHead;
  readonly #accounts = new AccountAnswers();
  /** The type of the question that was answered last. */
  type = '';

  constructor({ admission, settings }: ResponderParts) {
    this.#admission = admission;
    this.#head = new ResponseHead(settings.idleTimeout);
  }

  /**
   * The response to the question in these bytes. Throws where it is not an answer, and has then
   * changed nothing; the text is ASCII.
   */
  respond(secretHash: string, bytes: Buffer, start: number, end: number): string {
    const key = this.#admission.requireKey(secretHash);
    const state = this.#admission.requireState();
    const user = readAccountQuestion(bytes, start, end);
    if (user === undefined) return this.#answerOther(state, key, bytes.subarray(start, end));
    return this.#answerAccount(
      state,
      key,
      findAccount(state, state.addresses.find(user), FIRST_DEX),
    );
  }

  #answerAccount(state: StateView, key: Key, account: number): string {
    const { type, weight } = clearinghouseState;
    this.#admission.checkBudget(key, weight);
    this.#admission.checkLoad();
    const length = this.#accounts.answer(state, account);
    const head = this.#head.write(state, length, this.#admission.charge(key, weight));
    this.type = type;
    return this.#accounts.textAfter(head);
  }

  #answerOther(state: StateView, key: Key, body: Buffer): string {
    const question = parseQuestion(parseBody(body));
    question.validate(state);
    this.#admission.checkBudget(key, question.weight);
    this.#admission.checkLoad();
    const answer = question.answer(state);
    if (Buffer.byteLength(answer) !== answer.length) throw new Error('the answer is not ASCII');
    const allowance = this.#admission.charge(key, question.weight);
    this.type = question.type;
    return this.#head.write(state, answer.length, allowance).toString() + answer;
  }
}
