/** `perpDexs`: the perp dexes. Details that the ledger does not have are null, zero or empty. */

import type { Dex } from '../../state/markets/markets.ts';
import { ADDRESS_SCHEMA } from '../fields/address-field.ts';
import { requireLists } from '../fields/dex-field.ts';
import type { StateQuestionType } from '../question-type.ts';
import { alwaysNull, anyText, anythingElse, emptyList, listOf, object, zero } from '../schema.ts';
import { toAscii } from '../writing/ascii-json.ts';

/** ISO 8601, without a zone, as clients of this field expect it. */
const NEVER = '1970-01-01T00:00:00';

/** Fields that clients expect, but that the ledger does not have. */
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
  oracleUpdater: alwaysNull,
  feeRecipient: alwaysNull,
  assetToStreamingOiCap: emptyList,
  subDeployers: emptyList,
  deployerFeeScale: zero,
  lastDeployerFeeScaleChangeTime: { const: NEVER },
  assetToFundingMultiplier: emptyList,
  assetToFundingInterestRate: emptyList,
});

export const perpDexs: StateQuestionType<Record<string, never>> = {
  source: 'state',
  type: 'perpDexs',
  group: 'markets',
  summary:
    'The perp dexes, in their order; the first dex is null. A ledger that follows a server has the list of that server.',
  weight: 20,
  fields: {},
  answerSchema: listOf({ anyOf: [alwaysNull, dexSchema, anythingElse] }),
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
  validate: requireLists,
  changedAt(state) {
    requireLists(state);
    return Math.max(state.markets.dexesChangedAt, state.universes.dexes?.changedAt ?? 0);
  },
  answer(state) {
    requireLists(state);
    const { universes, markets } = state;
    if (universes.dexes !== undefined) return toAscii(universes.dexes.text);
    const [, ...deployed] = markets.dexes;
    return `[${['null', ...deployed.map(formatDex)].join(',')}]`;
  },
};
