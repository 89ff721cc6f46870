/**
 * The answers of the fast lane. The question that is asked most is read from its bytes, its answer
 * written into a buffer or taken from the cache; all others go the ordinary way through the registry.
 */

import { readAccountQuestion } from '../../info/account-question.ts';
import { AnswerWriter } from '../../info/answer-writer.ts';
import { clearinghouseState, writeAccount } from '../../info/clearinghouse.ts';
import { parseQuestion } from '../../info/registry.ts';
import type { Question } from '../../info/request.ts';
import { findAccount } from '../../state/accounts.ts';
import type { StateView } from '../../state/state.ts';
import { AnswerCache } from '../answer-cache.ts';
import { parseBody } from '../body.ts';

/** A question that has been understood, to be answered at once, before the next one. */
export interface LaneQuestion {
  readonly type: string;
  readonly weight: number;
  /** Of the answer, once it is computed, in bytes. */
  readonly length: number;
  compute(state: StateView): void;
  write(out: AnswerWriter): void;
}

const FIRST_DEX = 0;

export class LaneAnswers {
  readonly #account = new AccountQuestion();
  readonly #other = new OtherQuestion();

  /** The question that the bytes ask; throws where they ask none that can be answered. */
  understand(state: StateView, bytes: Buffer, start: number, end: number): LaneQuestion {
    const user = readAccountQuestion(bytes, start, end);
    if (user !== undefined) {
      this.#account.account = findAccount(state, state.addresses.find(user), FIRST_DEX);
      return this.#account;
    }
    this.#other.understand(state, bytes.subarray(start, end));
    return this.#other;
  }
}

class AccountQuestion implements LaneQuestion {
  readonly type = clearinghouseState.type;
  readonly weight = clearinghouseState.weight;
  account = 0;
  length = 0;
  readonly #cache = new AnswerCache();
  readonly #computed = new AnswerWriter();
  /** Where in the cache the answer is; -1 where it was computed. */
  #slot = -1;

  compute(state: StateView): void {
    const { height } = state;
    this.#slot = this.#cache.find(height, this.account);
    if (this.#slot === -1) {
      this.#computed.clear();
      writeAccount(this.#computed, state, this.account);
      this.#cache.keep(this.#computed, height, this.account);
      this.length = this.#computed.length;
    } else {
      this.length = this.#cache.lengthOf(this.#slot);
    }
  }

  write(out: AnswerWriter): void {
    if (this.#slot === -1) out.append(this.#computed);
    else this.#cache.write(out, this.#slot);
  }
}

class OtherQuestion implements LaneQuestion {
  #question: Question | undefined;
  #answer = '';

  get type(): string {
    return this.#question?.type ?? '';
  }

  get weight(): number {
    return this.#question?.weight ?? 0;
  }

  get length(): number {
    return this.#answer.length;
  }

  understand(state: StateView, bytes: Buffer): void {
    this.#question = parseQuestion(parseBody(bytes));
    this.#question.validate(state);
  }

  compute(state: StateView): void {
    const answer = this.#question?.answer(state) ?? '';
    if (Buffer.byteLength(answer) !== answer.length) throw new Error('the answer is not ASCII');
    this.#answer = answer;
  }

  write(out: AnswerWriter): void {
    out.reserve(this.#answer.length);
    out.text(this.#answer);
    this.#answer = '';
  }
}
