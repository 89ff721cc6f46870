/**
 * The costs of questions under the rate limit of the upstream. For the exchange's public server,
 * the types declare the costs; for another server, a setting gives them.
 */

import { QUESTION_TYPES } from './question-types.ts';
import { ORDINARY, type UpstreamCost } from './upstream-cost.ts';

/** A Map and not an object, so that nothing is found for a type such as "constructor". */
const PUBLIC_COSTS: ReadonlyMap<string, UpstreamCost> = new Map(
  QUESTION_TYPES.map(({ type, upstreamCost = ORDINARY }) => [type, upstreamCost]),
);

/** The name under which a setting gives the weight of all questions that it does not name. */
export const OTHER_QUESTIONS = 'default';

export class UpstreamWeights {
  readonly #costs: ReadonlyMap<string, UpstreamCost>;
  readonly #others: UpstreamCost | undefined;

  /** `changes` has the weights of a setting, by type. These weights do not depend on the answer. */
  constructor(changes: ReadonlyMap<string, number> = new Map()) {
    const changed = [...changes].map(([type, weight]): [string, UpstreamCost] => [
      type,
      { weight },
    ]);
    this.#costs = new Map(changed);
    this.#others = this.#costs.get(OTHER_QUESTIONS);
  }

  #costOf(type: string): UpstreamCost {
    return this.#costs.get(type) ?? this.#others ?? PUBLIC_COSTS.get(type) ?? ORDINARY;
  }

  /** The cost of a question, without the cost of the items of its answer. */
  of(type: string): number {
    return this.#costOf(type).weight;
  }

  /** The highest cost of a question, which is reserved before the question is sent. */
  maxOf(type: string): number {
    const { weight, perItems = 1, itemsMax = 0 } = this.#costOf(type);
    return weight + Math.ceil(itemsMax / perItems);
  }

  /**
   * The cost of a question whose answer has this many rows; `rows` is undefined if the answer is
   * not a list.
   */
  ofRows(type: string, rows: number | undefined): number {
    const { weight, perItems } = this.#costOf(type);
    if (perItems === undefined || rows === undefined) return weight;
    return weight + Math.ceil(rows / perItems);
  }
}

export const PUBLIC_WEIGHTS = new UpstreamWeights();
