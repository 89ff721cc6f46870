/** `marginTable`: the margin tiers of a market, by an id that `meta` lists. */

import { allTermsChangedAt } from '../../state/changed-at.ts';
import type { StateView } from '../../state/state.ts';
import { formatMarginTable, marginTableId } from '../answers/margin-table-answer.ts';
import { listedDexes, requireLists } from '../fields/dex-field.ts';
import { wholeField } from '../fields/whole-number-field.ts';
import type { StateQuestionType } from '../question-type.ts';
import { RequestError } from '../request-error.ts';
import { amount, anyText, anythingElse, listOf, object, wholeNumber } from '../schema.ts';
import { toAscii } from '../writing/ascii-json.ts';

export const marginTableSchema = object({
  description: anyText,
  marginTiers: listOf(object({ lowerBound: amount, maxLeverage: wholeNumber })),
});

export const marginTableExample = {
  description: '',
  marginTiers: [
    { lowerBound: '0.0', maxLeverage: 40 },
    { lowerBound: '150000000.0', maxLeverage: 20 },
  ],
};

const tableFields = {
  id: wholeField('the id of a margin table, as listed by meta', { from: 1 }),
};

/**
 * If no server lists a number that is lower than this, the number is the maximum leverage of a
 * table with one tier.
 */
const LISTED_TABLES_FROM = 50;

/** The table of the followed server. If several dexes list the number, the first dex counts. */
function findListedTable(state: StateView, id: number): string | undefined {
  const { byDex } = state.universes;
  for (const dexIndex of listedDexes(state)) {
    const table = byDex.get(dexIndex)?.tableOf(id);
    if (table !== undefined) return toAscii(table);
  }
  if (byDex.size === 0 || id >= LISTED_TABLES_FROM) return undefined;
  return `{"description":"","marginTiers":[{"lowerBound":"0.0","maxLeverage":${id}}]}`;
}

/**
 * Returns the table of the first market in the ledger whose table has this id; returns undefined if
 * a server lists its tables.
 */
function findOwnTable({ markets, universes }: StateView, id: number): string | undefined {
  if (universes.byDex.size > 0) return undefined;
  const own = markets.markets.find((market, place) => marginTableId(market, place) === id);
  return own && formatMarginTable(own);
}

function requireTable(state: StateView, id: number): string {
  requireLists(state);
  const table = findListedTable(state, id) ?? findOwnTable(state, id);
  if (table !== undefined) return table;
  const message = `id: got ${id}, expected the marginTableId of a market, as listed by meta`;
  throw new RequestError('invalid_field', message, 'id');
}

export const marginTable: StateQuestionType<typeof tableFields> = {
  source: 'state',
  type: 'marginTable',
  group: 'markets',
  summary: "One margin table: the tiers of a market's leverage.",
  weight: 20,
  fields: tableFields,
  answerSchema: { anyOf: [marginTableSchema, anythingElse] },
  example: { question: { type: 'marginTable', id: 1001 }, answer: marginTableExample },
  validate(state, { id }) {
    requireTable(state, id);
  },
  changedAt(state, { id }) {
    requireTable(state, id);
    const { markets, universes } = state;
    if (universes.byDex.size > 0) return allTermsChangedAt(state);
    // Markets share an id only if each has a single tier; then their tables are the same.
    return markets.termsChangedAt(
      markets.markets.findIndex((market, place) => marginTableId(market, place) === id),
    );
  },
  answer: (state, { id }) => requireTable(state, id),
};
