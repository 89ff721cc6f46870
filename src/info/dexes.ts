/** `perpDexs`: the perp dexes. What the ledger does not hold of a dex is null, zero or empty. */

import type { Dex } from '../state/markets.ts';
import { ADDRESS_SCHEMA, type RequestType } from './request.ts';
import { anyText, listOf, none, nothing, object, zero } from './schema.ts';

/** ISO 8601, without a zone, as clients of this field expect it. */
const NEVER = '1970-01-01T00:00:00';

/** What the interface has of a dex that the ledger does not hold. */
const DEX_DETAILS = {
  oracleUpdater: null,
  feeRecipient: null,
  assetToStreamingOiCap: [],
  subDeployers: [],
  deployerFeeScale: '0.0',
  lastDeployerFeeScaleChangeTime: NEVER,
  assetToFundingMultiplier: [],
  assetToFundingInterestRate: [],
};

function formatDex({ name, fullName, deployer }: Dex): string {
  return JSON.stringify({ name, fullName, deployer, ...DEX_DETAILS });
}

const dexSchema = object({
  name: anyText,
  fullName: anyText,
  deployer: ADDRESS_SCHEMA,
  oracleUpdater: none,
  feeRecipient: none,
  assetToStreamingOiCap: nothing,
  subDeployers: nothing,
  deployerFeeScale: zero,
  lastDeployerFeeScaleChangeTime: { const: NEVER },
  assetToFundingMultiplier: nothing,
  assetToFundingInterestRate: nothing,
});

export const perpDexs: RequestType<Record<string, never>> = {
  type: 'perpDexs',
  summary: 'The perp dexes, in their order; the first one is null.',
  weight: 20,
  fields: {},
  answerSchema: listOf({ anyOf: [none, dexSchema] }),
  example: {
    question: { type: 'perpDexs' },
    answer: [
      null,
      {
        name: 'abc',
        fullName: 'Alphabet Commodities',
        deployer: '0x3898092b3dfd038e1e3e47bc3165ad77181d6b9e',
        ...DEX_DETAILS,
      },
    ],
  },
  answer({ markets }) {
    const [, ...deployed] = markets.dexes;
    return `[${['null', ...deployed.map(formatDex)].join(',')}]`;
  },
};
