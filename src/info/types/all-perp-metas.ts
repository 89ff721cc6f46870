/** `allPerpMetas`: the markets of every dex. */

import { allTermsChangedAt } from '../../state/changed-at.ts';
import type { StateView } from '../../state/state.ts';
import { formatMeta } from '../answers/market-answers.ts';
import { requireLists } from '../fields/dex-field.ts';
import type { StateQuestionType } from '../question-type.ts';
import { listOf } from '../schema.ts';
import { metaExample, metaSchema } from './meta.ts';

/**
 * The index of the dex at each place of the answer to perpDexs; undefined if the ledger does not
 * have the dex.
 */
function listPlaces({ markets, universes }: StateView): (number | undefined)[] {
  if (universes.dexes === undefined) return [...markets.dexes.keys()];
  return universes.dexes.names.map((name) =>
    name === undefined ? undefined : markets.findDex(name),
  );
}

/** Formats the markets of a dex. A place without a dex has no markets. */
function formatMetaAt(state: StateView, dexIndex: number | undefined): string {
  if (dexIndex !== undefined) return formatMeta(state, dexIndex);
  return '{"universe":[],"marginTables":[],"collateralToken":0}';
}

export const allPerpMetas: StateQuestionType<Record<string, never>> = {
  source: 'state',
  type: 'allPerpMetas',
  group: 'markets',
  summary: 'The markets of every dex, in the order of the dexes.',
  weight: 20,
  fields: {},
  answerSchema: listOf(metaSchema),
  example: { question: { type: 'allPerpMetas' }, answer: [metaExample] },
  validate: requireLists,
  changedAt(state) {
    requireLists(state);
    return allTermsChangedAt(state);
  },
  answer(state) {
    requireLists(state);
    return `[${listPlaces(state)
      .map((dexIndex) => formatMetaAt(state, dexIndex))
      .join(',')}]`;
  },
};
