/** Every type of question. Transports, OpenAPI, llms.txt, help and documents read this list. */

import type {
  ArchiveQuestionType,
  QuestionType,
  StateQuestionType,
  UpstreamQuestionType,
} from './question-type.ts';
import { accountHistory } from './types/account-history.ts';
import { allDexsClearinghouseState } from './types/all-dexs-clearinghouse-state.ts';
import { allMids } from './types/all-mids.ts';
import { allPerpMetas } from './types/all-perp-metas.ts';
import { batchClearinghouseStates } from './types/batch-clearinghouse-states.ts';
import { clearinghouseState } from './types/clearinghouse-state.ts';
import { delegations } from './types/delegations.ts';
import { delegatorSummary } from './types/delegator-summary.ts';
import { exchangeStatus } from './types/exchange-status.ts';
import { PERMISSION_TYPES } from './types/forwarded/fees-and-permissions.ts';
import { MARKET_DATA_TYPES } from './types/forwarded/market-data.ts';
import { MARKET_TYPES, SPOT_TYPES, STAKING_TYPES } from './types/forwarded/markets-and-staking.ts';
import { ORDER_TYPES } from './types/forwarded/orders-and-fills.ts';
import { VAULT_TYPES } from './types/forwarded/vaults-and-lending.ts';
import { liquidationHistory } from './types/liquidation-history.ts';
import { marginTable } from './types/margin-table.ts';
import { meta } from './types/meta.ts';
import { metaAndAssetCtxs } from './types/meta-and-asset-ctxs.ts';
import { outcomeMeta } from './types/outcome-meta.ts';
import { perpDeployAuctionStatus } from './types/perp-deploy-auction-status.ts';
import { perpDexs } from './types/perp-dexs.ts';
import { portfolio } from './types/portfolio.ts';
import { positionHistory } from './types/position-history.ts';
import { spotClearinghouseState } from './types/spot-clearinghouse-state.ts';
import { spotMeta } from './types/spot-meta.ts';
import { spotMetaAndAssetCtxs } from './types/spot-meta-and-asset-ctxs.ts';
import { userAbstraction } from './types/user-abstraction.ts';
import { webData2 } from './types/web-data-2.ts';

/**
 * All types, in the order in which errors list them. Put a new type next to the types of the same
 * subject.
 */
export const QUESTION_TYPES: readonly QuestionType[] = [
  clearinghouseState,
  delegations,
  perpDeployAuctionStatus,
  allDexsClearinghouseState,
  batchClearinghouseStates,
  delegatorSummary,
  userAbstraction,
  meta,
  metaAndAssetCtxs,
  allPerpMetas,
  allMids,
  perpDexs,
  marginTable,
  exchangeStatus,
  spotMeta,
  spotMetaAndAssetCtxs,
  spotClearinghouseState,
  outcomeMeta,
  webData2,
  accountHistory,
  positionHistory,
  liquidationHistory,
  portfolio,
  ...MARKET_DATA_TYPES,
  ...ORDER_TYPES,
  ...PERMISSION_TYPES,
  ...VAULT_TYPES,
  ...MARKET_TYPES,
  ...STAKING_TYPES,
  ...SPOT_TYPES,
];

export const STATE_TYPES: readonly StateQuestionType[] = QUESTION_TYPES.filter(
  (questionType) => questionType.source === 'state',
);

export const OWN_TYPES: readonly (StateQuestionType | ArchiveQuestionType)[] =
  QUESTION_TYPES.filter((questionType) => questionType.source !== 'upstream');

/** The types that the upstream answers where questions are forwarded. */
export const FORWARDED_TYPES: readonly QuestionType[] = QUESTION_TYPES.filter(
  (questionType) => questionType.source === 'upstream' || questionType.upstreamFirst !== undefined,
);

export const UPSTREAM_TYPES: readonly UpstreamQuestionType[] = QUESTION_TYPES.filter(
  (questionType) => questionType.source === 'upstream',
);

/** The types that can be subscribed to. */
export const PUSHED_TYPES: readonly StateQuestionType[] = STATE_TYPES.filter(
  ({ push }) => push !== undefined,
);
