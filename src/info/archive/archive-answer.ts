/** An answer about the past, and the steps in which it is computed. */

import type { AnswerFormat } from '../fields/format-field.ts';

export interface ArchiveAnswer {
  /** Bytes if it is long. */
  readonly body: string | Buffer;
  readonly format: AnswerFormat;
  /** The position that the answer is of, or ends with. */
  readonly height: number;
  readonly time: number;
  /** True if the same question will always have this answer. */
  readonly isFixed: boolean;
  /** On a partial ledger, when the oldest account of the answer was read; -1 if it is about no account. */
  readonly accountTime: number;
}

/**
 * Yields where work may pause: the surcharge, in weight units, for the work since the last pause. It adds
 * to the weight of the question, which covers what is known before the work starts.
 */
export type ArchiveSteps = Generator<number, ArchiveAnswer, void>;
