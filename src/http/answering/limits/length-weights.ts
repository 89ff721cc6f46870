/**
 * Charges long questions and messages by their length. A long question is read only if the rest of
 * the key's budget covers the weight of the question's length. Reading is charged, whether the
 * question is answered or refused.
 */

import type { Admission } from '../../../access/admission.ts';
import type { Key } from '../../../access/keys.ts';
import type { RequestError } from '../../../info/request-error.ts';
import { clearinghouseState } from '../../../info/types/clearinghouse-state.ts';
import { isLengthy, weighLength } from '../../message/parse-limits.ts';
import { isOurs } from '../../message/refusal-reply.ts';
import type { Reply } from '../../message/reply.ts';

export class LengthWeights {
  readonly #admission: Admission;

  constructor(admission: Admission) {
    this.#admission = admission;
  }

  /**
   * Returns the refusal if the budget does not allow reading a question of this length. Short
   * questions are always read.
   */
  findSpentBudget(key: Key, length: number): RequestError | undefined {
    if (!isLengthy(length)) return undefined;
    const weight = Math.max(clearinghouseState.weight, weighLength(length));
    return this.#admission.findSpentBudget(key, weight);
  }

  /** The refusal if the key cannot afford a question that was read. Then only the reading is charged. */
  findShortage(
    key: Key,
    weight: number,
    length: number,
    terms?: { readonly isLeast: boolean },
  ): RequestError | undefined {
    const isShort = this.#admission.findShortage(key, weight)?.code === 'rate_limited';
    if (!isShort) return undefined;
    this.#admission.charge(key, weighLength(length));
    // The retry time now includes the charge for the reading.
    return this.#admission.findShortage(key, weight, 'type', terms);
  }

  /**
   * Charges the weight of the reading, less the weight that was already charged for the answer or
   * the refusal.
   */
  chargeRest(reply: Reply, key: Key, charged: number, length: number): Reply {
    const { refusal, allowance } = reply;
    const rest = weighLength(length) - charged;
    const isFree = refusal !== undefined && isOurs(refusal);
    // Without an allowance, the key has no budget, or the key was revoked during the work.
    if (rest <= 0 || isFree || allowance === undefined) return reply;
    reply.allowance = this.#admission.chargeWhatIsLeft(key, rest);
    return reply;
  }
}
