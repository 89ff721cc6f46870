/** The faults that the stub can have, and the choice of the fault for a request. */

import type { Random } from '../../src/simulator/random.ts';

/** The faults that replace an answer. */
export const ANSWER_FAULTS = [
  /** The answer is late. */
  'slow',
  /** There is no answer. */
  'hang',
  /** The connection is reset before the answer, or in the middle of it. */
  'reset',
  /** Status 429 with the body null. */
  'tooMany',
  /** Status 500 with the body null. */
  'failure',
  /** Status 422 with a text. */
  'refused',
  /** JSON that is truncated. */
  'truncated',
  /** An HTML page with status 200. */
  'notJson',
  /** JSON with another structure. */
  'wrongShape',
  /** A body that does not end for a long time. */
  'huge',
  /**
   * The answer about another account. After this fault, a question gets it again only after a right
   * answer.
   */
  'otherAccount',
  /** An answer that was true some time ago, from a stalled server. */
  'stalled',
  /** One figure contradicts the other figures. */
  'contradiction',
] as const;
export type AnswerFault = (typeof ANSWER_FAULTS)[number];

/** The faults of push, which last as long as they are switched on. */
export const PUSH_FAULTS = [
  /** The server sends nothing, not even a pong, and closes nothing. */
  'silent',
  /** Messages are sent twice, and old trades and states are sent again. */
  'repeating',
  /** Some messages are lost. */
  'dropping',
  /** Every connection is closed once a second. */
  'closing',
  /**
   * A frame of compressed marks is truncated, or inflates to more bytes than a client should
   * accept.
   */
  'brokenFrames',
  /** A subscription to one of the listed coins closes the connection. */
  'closingOnCoin',
] as const;
export type PushFault = (typeof PUSH_FAULTS)[number];

export interface FaultPlan {
  /** The share of requests with the fault, from 0 to 1, for each fault. */
  readonly answers?: Partial<Record<AnswerFault, number>>;
  /** Only questions of these types can get a fault; all types if undefined. */
  readonly types?: readonly string[];
  readonly push?: readonly PushFault[];
  /**
   * The exchange lists a coin whose name the ledger does not allow, and users have positions in
   * this coin.
   */
  readonly strangeCoin?: boolean;
  /**
   * The lists of dexes and markets change: another order, a new market, a delisted market and one
   * dex less.
   */
  readonly otherLists?: boolean;
  /** The server is unreachable: connections are refused. */
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

  /** Returns the fault of a request; returns undefined if the request has no fault. */
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
