/**
 * What questions cost by the rate limit of the upstream: as the types declare for the exchange's
 * public server, or as a setting says for another server.
 */

import { QUESTION_TYPES } from './question-types.ts';
import { ORDINARY, type UpstreamCost } from './upstream-cost.ts';

/** A Map, so that a type such as "constructor" finds nothing. */
const PUBLIC_COSTS: ReadonlyMap<string, UpstreamCost> = new Map(
  QUESTION_TYPES.map(({ type, upstreamCost = ORDINARY }) => [type, upstreamCost]),
);

/** In the weights of a setting: the weight of all questions that the setting does not name. */
export const OTHER_QUESTIONS = 'default';

export class UpstreamWeights {
  readonly #costs: ReadonlyMap<string, UpstreamCost>;
  readonly #others: UpstreamCost | undefined;

  /**
   * `changes` has the weights of a setting, by type. Such a weight does not depend on the answer.
   */
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

  /** The cost of a question without the items of its answer. */
  of(type: string): number {
    return this.#costOf(type).weight;
  }

  /** The highest cost of a question, which is reserved before the question is sent. */
  maxOf(type: string): number {
    const { weight, perItems = 1, itemsMax = 0 } = this.#costOf(type);
    return weight + Math.ceil(itemsMax / perItems);
  }

  /**
   * The cost of a question whose answer has so many rows; undefined if the answer is not a list.
   */
  ofRows(type: string, rows: number | undefined): number {
    const { weight, perItems } = this.#costOf(type);
    if (perItems === undefined || rows === undefined) return weight;
    return weight + Math.ceil(rows / perItems);
  }
}

export const PUBLIC_WEIGHTS = new UpstreamWeights();
