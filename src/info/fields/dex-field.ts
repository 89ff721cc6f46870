/** The field `dex` of a question, and the refusal of a dex that does not exist. */

import type { StateView } from '../../state/state.ts';
import { RequestError, wrongValue } from '../request-error.ts';
import type { Field } from './field.ts';

export const dexField: Field<string> = {
  description: 'the name of a perp dex; "", the default, is the first one',
  schema: { type: 'string', default: '' },
  fallback: '',
  read(name, value) {
    if (typeof value === 'string') return value;
    return wrongValue(name, value, 'the name of a perp dex as text');
  },
  format: (dex) => JSON.stringify(dex),
};

/** The first dex always exists. */
const FIRST_DEX = '';
export const FIRST_DEX_INDEX = 0;

/**
 * Returns the index of a dex that a question names. Throws a RequestError if the dex does not
 * exist, or if a follower has not read the dexes yet.
 */
export function requireDex(state: StateView, dex: string): number {
  if (dex === FIRST_DEX) return FIRST_DEX_INDEX;
  const dexIndex = state.markets.findDex(dex);
  if (dexIndex !== undefined && isListed(state, dex)) return dexIndex;
  requireLists(state);
  throw wrongValue('dex', dex, describeDexes(state), 'unknown_dex');
}

/** A ledger that follows another server may have dexes that the server no longer lists. */
function isListed({ universes }: StateView, dex: string): boolean {
  return universes.dexes === undefined || universes.dexes.has(dex);
}

/**
 * The indexes of the dexes in the order of the followed server's list; if there is no list, in our
 * order.
 */
export function listedDexes({ markets, universes }: StateView): number[] {
  if (universes.dexes === undefined) return [...markets.dexes.keys()];
  return universes.dexes.names.flatMap((name) =>
    name === undefined ? [] : (markets.findDex(name) ?? []),
  );
}

/**
 * Refuses questions about a list that a follower has not read yet, because an empty list would be
 * wrong.
 */
export function requireLists(state: StateView): void {
  const { isPartial, universes, markets } = state;
  const areListed = universes.dexes !== undefined || markets.dexes.length > 1;
  if (!isPartial || areListed || markets.markets.length > 0) return;
  throw new RequestError('not_ready', 'no markets have been read yet');
}

const DEXES_SHOWN_MAX = 20;

function describeDexes(state: StateView): string {
  // The list of a server may name a dex twice, or omit the first dex, which always exists.
  const names = new Set([
    '',
    ...listedDexes(state).map((index) => state.markets.dexes[index].name),
  ]);
  const shown = [...names].slice(0, DEXES_SHOWN_MAX).map((name) => `"${name}"`);
  const hidden = names.size - shown.length;
  return `one of ${shown.join(', ')}${hidden > 0 ? ` and ${hidden} more` : ''}`;
}
