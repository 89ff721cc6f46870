/** What a question costs by the rate limit of the upstream. */

const LIGHT_WEIGHT = 2;
const ORDINARY_WEIGHT = 20;
/** For a user's role. */
const HEAVY_WEIGHT = 60;

const LIGHT: ReadonlySet<string> = new Set([
  'allMids',
  'clearinghouseState',
  'exchangeStatus',
  'l2Book',
  'orderStatus',
  'spotClearinghouseState',
]);

/** The answer costs 1 more for each `perItems` items, and has no more items than `itemsMax`. */
interface ItemCost {
  readonly perItems: number;
  readonly itemsMax: number;
}

/** A Map, so that a type such as "constructor" finds nothing. */
const ITEM_COSTS: ReadonlyMap<string, ItemCost> = new Map([
  ['candleSnapshot', { perItems: 60, itemsMax: 5000 }],
  ['delegatorHistory', { perItems: 20, itemsMax: 2000 }],
  ['delegatorRewards', { perItems: 20, itemsMax: 2000 }],
  ['fundingHistory', { perItems: 20, itemsMax: 500 }],
  ['historicalOrders', { perItems: 20, itemsMax: 2000 }],
  ['recentTrades', { perItems: 20, itemsMax: 500 }],
  ['twapHistory', { perItems: 20, itemsMax: 2000 }],
  ['userFills', { perItems: 20, itemsMax: 2000 }],
  ['userFillsByTime', { perItems: 20, itemsMax: 2000 }],
  ['userFunding', { perItems: 20, itemsMax: 500 }],
  ['userNonFundingLedgerUpdates', { perItems: 20, itemsMax: 2000 }],
  ['userTwapSliceFills', { perItems: 20, itemsMax: 2000 }],
  ['userTwapSliceFillsByTime', { perItems: 20, itemsMax: 2000 }],
]);

/** What a question costs apart from the items in its answer. */
export function weightOf(type: string): number {
  if (type === 'userRole') return HEAVY_WEIGHT;
  return LIGHT.has(type) ? LIGHT_WEIGHT : ORDINARY_WEIGHT;
}

/** The most that a question can cost: what has to be set aside before it is sent. */
export function weightMaxOf(type: string): number {
  const cost = ITEM_COSTS.get(type);
  return weightOf(type) + (cost === undefined ? 0 : Math.ceil(cost.itemsMax / cost.perItems));
}

/** What a question did cost, once its answer is there. */
export function weightOfAnswer(type: string, answer: unknown): number {
  const cost = ITEM_COSTS.get(type);
  if (cost === undefined || !Array.isArray(answer)) return weightOf(type);
  return weightOf(type) + Math.ceil(answer.length / cost.perItems);
}
