/**
 * What a question costs by the rate limit of the upstream. The table is that of the exchange's public
 * server; a vendor's weights are given by a setting.
 */

/** What a question costs; with items, 1 more for each `perItems` items of its answer. */
interface Cost {
  readonly weight: number;
  readonly perItems?: number;
  /** No answer has more items. */
  readonly itemsMax?: number;
}

const ORDINARY: Cost = { weight: 20 };
const LIGHT: Cost = { weight: 2 };
const HEAVY: Cost = { weight: 60 };
const PER_20_OF_500: Cost = { weight: 20, perItems: 20, itemsMax: 500 };
const PER_20_OF_2000: Cost = { weight: 20, perItems: 20, itemsMax: 2000 };
const PER_60_OF_5000: Cost = { weight: 20, perItems: 60, itemsMax: 5000 };

/** All others are ordinary. A Map, so that a type such as "constructor" finds nothing. */
const PUBLIC_COSTS: ReadonlyMap<string, Cost> = new Map([
  ['allMids', LIGHT],
  ['candleSnapshot', PER_60_OF_5000],
  ['clearinghouseState', LIGHT],
  ['delegatorHistory', PER_20_OF_2000],
  ['delegatorRewards', PER_20_OF_2000],
  ['exchangeStatus', LIGHT],
  ['fundingHistory', PER_20_OF_500],
  ['historicalOrders', PER_20_OF_2000],
  ['l2Book', LIGHT],
  ['orderStatus', LIGHT],
  ['recentTrades', PER_20_OF_500],
  ['spotClearinghouseState', LIGHT],
  ['twapHistory', PER_20_OF_2000],
  ['userFills', PER_20_OF_2000],
  ['userFillsByTime', PER_20_OF_2000],
  ['userFunding', PER_20_OF_500],
  ['userNonFundingLedgerUpdates', PER_20_OF_2000],
  ['userRole', HEAVY],
  ['userTwapSliceFills', PER_20_OF_2000],
  ['userTwapSliceFillsByTime', PER_20_OF_2000],
]);

/** In the table of a vendor: the weight of all questions that it does not name. */
export const OTHER_QUESTIONS = 'default';

export class UpstreamWeights {
  readonly #costs: ReadonlyMap<string, Cost>;
  readonly #others: Cost | undefined;

  /** With the weights of a vendor, by type: they do not depend on the answer. */
  constructor(changes: ReadonlyMap<string, number> = new Map()) {
    const changed = [...changes].map(([type, weight]): [string, Cost] => [type, { weight }]);
    this.#costs = new Map(changed);
    this.#others = this.#costs.get(OTHER_QUESTIONS);
  }

  #costOf(type: string): Cost {
    return this.#costs.get(type) ?? this.#others ?? PUBLIC_COSTS.get(type) ?? ORDINARY;
  }

  /** What a question costs apart from the items in its answer. */
  of(type: string): number {
    return this.#costOf(type).weight;
  }

  /** The most that a question can cost: what has to be set aside before it is sent. */
  maxOf(type: string): number {
    const { weight, perItems = 1, itemsMax = 0 } = this.#costOf(type);
    return weight + Math.ceil(itemsMax / perItems);
  }

  /** What a question did cost, once its answer is there: a list of so many rows, or no list. */
  ofRows(type: string, rows: number | undefined): number {
    const { weight, perItems } = this.#costOf(type);
    if (perItems === undefined || rows === undefined) return weight;
    return weight + Math.ceil(rows / perItems);
  }
}

export const PUBLIC_WEIGHTS = new UpstreamWeights();
