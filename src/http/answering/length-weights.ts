/**
 * Questions and messages beyond the length of an ordinary one. They are not read for a key that has less
 * left than they weigh at least, and reading them is charged for, whether there is an answer or not.
 */

import type { Admission } from '../../access/admission.ts';
import type { Key } from '../../access/keys.ts';
import { clearinghouseState } from '../../info/clearinghouse.ts';
import type { RequestError } from '../../info/request-error.ts';
import { isLengthy, weighLength } from '../message/parse-limits.ts';
import { isOurs } from '../message/refusal-reply.ts';
import type { Reply } from '../message/reply.ts';

export class LengthWeights {
  readonly #admission: Admission;

  constructor(admission: Admission) {
    this.#admission = admission;
  }

  /** Why a question of this many bytes is not read. Of short ones, what is wrong with them comes first. */
  findSpentBudget(key: Key, length: number): RequestError | undefined {
    if (!isLengthy(length)) return undefined;
    const weight = Math.max(clearinghouseState.weight, weighLength(length));
    return this.#admission.findSpentBudget(key, weight);
  }

  /** Why the key cannot afford a question that was read: then reading it is all that it is charged for. */
  findShortage(key: Key, weight: number, length: number): RequestError | undefined {
    const isShort = this.#admission.findShortage(key, weight)?.code === 'rate_limited';
    if (!isShort) return undefined;
    this.#admission.charge(key, weighLength(length));
    // With the time in which that comes back as well.
    return this.#admission.findShortage(key, weight);
  }

  /** Charges for reading a question what its answer or refusal has not been charged. */
  chargeRest(reply: Reply, key: Key, charged: number, length: number): Reply {
    const { refusal, allowance } = reply;
    const rest = weighLength(length) - charged;
    const isFree = refusal !== undefined && isOurs(refusal);
    // Without an allowance the key has no budget, or was revoked meanwhile.
    if (rest <= 0 || isFree || allowance === undefined) return reply;
    reply.allowance = this.#admission.chargeWhatIsLeft(key, rest);
    return reply;
  }
}
