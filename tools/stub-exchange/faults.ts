/** The faults that the stub can be told to have, and which one a request meets. */

import type { Random } from '../../src/simulator/random.ts';

/** What a request may meet instead of its answer. */
export const ANSWER_FAULTS = [
  /** Answered, but late. */
  'slow',
  /** Never answered. */
  'hang',
  /** The connection is reset before the answer, or in the middle of it. */
  'reset',
  /** 429 with the body null. */
  'tooMany',
  /** 500 with the body null. */
  'failure',
  /** 422 as text. */
  'refused',
  /** JSON that is cut off. */
  'truncated',
  /** A page, with status 200. */
  'notJson',
  /** JSON of another form. */
  'wrongShape',
  /** A body that does not end for a long time. */
  'huge',
  /** The answer about another account; to one question only once until a right answer came. */
  'otherAccount',
  /** A true answer of some time ago, from a server that has stalled. */
  'stalled',
  /** One figure contradicts the others. */
  'contradiction',
] as const;
export type AnswerFault = (typeof ANSWER_FAULTS)[number];

/** What happens to push, as long as it is switched on. */
export const PUSH_FAULTS = [
  /** Nothing is sent, not even a pong, and nothing is closed. */
  'silent',
  /** Messages come twice, and old trades and states again. */
  'repeating',
  /** Some messages are lost. */
  'dropping',
  /** Every connection is closed every second. */
  'closing',
  /** A frame of compressed marks is cut, or inflates to more than any client should take. */
  'brokenFrames',
  /** A subscription to one of the listed coins closes the connection. */
  'closingOnCoin',
] as const;
export type PushFault = (typeof PUSH_FAULTS)[number];

export interface FaultPlan {
  /** The share of requests that meet the fault, from 0 to 1. */
  readonly answers?: Partial<Record<AnswerFault, number>>;
  /** Only questions of these types meet a fault; all if undefined. */
  readonly types?: readonly string[];
  readonly push?: readonly PushFault[];
  /** The exchange lists a coin that the vocabulary cannot hold, and users hold it. */
  readonly strangeCoin?: boolean;
  /** The lists of dexes and markets change: order, a new market, a delisted one, a dex less. */
  readonly otherLists?: boolean;
  /** The server is gone: connections are refused. */
  readonly gone?: boolean;
}

export class Faults {
  readonly #random: Random;
  plan: FaultPlan = {};
  readonly served: Record<string, number> = {};

  constructor(random: Random) {
    this.#random = random;
  }

  has(fault: PushFault): boolean {
    return this.plan.push?.includes(fault) ?? false;
  }

  /** The fault that a request meets, if any. */
  draw(type: string): AnswerFault | undefined {
    const { answers = {}, types } = this.plan;
    if (types !== undefined && !types.includes(type)) return undefined;
    let rest = this.#random.fraction();
    for (const fault of ANSWER_FAULTS) {
      rest -= answers[fault] ?? 0;
      if (rest < 0) return fault;
    }
    return undefined;
  }

  count(fault: string): void {
    this.served[fault] = (this.served[fault] ?? 0) + 1;
  }
}
