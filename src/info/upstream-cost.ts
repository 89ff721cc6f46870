/** The costs of questions under the rate limit of the exchange's public server. */

/** If `perItems` is defined, each group of this many items of the answer costs 1 more. */
export interface UpstreamCost {
  readonly weight: number;
  readonly perItems?: number;
  /** The largest number of items in an answer. */
  readonly itemsMax?: number;
}

/** The cost of a type that declares no other cost. */
export const ORDINARY: UpstreamCost = { weight: 20 };
export const LIGHT: UpstreamCost = { weight: 2 };
export const HEAVY: UpstreamCost = { weight: 60 };
export const PER_20_OF_500: UpstreamCost = { weight: 20, perItems: 20, itemsMax: 500 };
export const PER_20_OF_2000: UpstreamCost = { weight: 20, perItems: 20, itemsMax: 2000 };
export const PER_60_OF_5000: UpstreamCost = { weight: 20, perItems: 60, itemsMax: 5000 };
