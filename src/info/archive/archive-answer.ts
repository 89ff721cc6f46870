/** An answer about the past, and the steps in which it is computed. */

import type { AnswerFormat } from '../fields/format-field.ts';

export interface ArchiveAnswer {
  /** A long body is bytes, other bodies are text. */
  readonly body: string | Buffer;
  readonly format: AnswerFormat;
  /** The height of the answer; for a time range, the last height. */
  readonly height: number;
  readonly time: number;
  /** True if the same question will always have this answer. */
  readonly isFixed: boolean;
  /**
   * On a partial ledger, the time at which the least recently read account of the answer was read;
   * -1 if the answer is about no account.
   */
  readonly accountTime: number;
}

/**
 * The computation of an answer. It yields at each place where the work may pause, and yields the
 * surcharge for the work since the last pause, in weight units. The surcharge is added to the
 * weight of the question.
 */
export type ArchiveSteps = Generator<number, ArchiveAnswer, void>;
