/** The types of question in the order in which an error lists them. */
export const TYPES = [
  'clearinghouseState',
  'delegations',
  'perpDeployAuctionStatus',
  'allDexsClearinghouseState',
  'batchClearinghouseStates',
  'delegatorSummary',
  'userAbstraction',
  'meta',
  'metaAndAssetCtxs',
  'allPerpMetas',
  'allMids',
  'perpDexs',
  'marginTable',
  'exchangeStatus',
  'spotMeta',
  'spotMetaAndAssetCtxs',
  'spotClearinghouseState',
  'outcomeMeta',
  'webData2',
  'accountHistory',
  'positionHistory',
  'liquidationHistory',
  'portfolio',
].join(', ');

/** Those that can be subscribed to, likewise. */
export const SUBSCRIPTIONS = [
  'clearinghouseState',
  'delegations',
  'perpDeployAuctionStatus',
  'allDexsClearinghouseState',
  'allMids',
  'webData2',
].join(', ');
