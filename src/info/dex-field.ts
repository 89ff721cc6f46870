/** The field `dex` of a question, and the refusal of a dex that does not exist. */

import type { StateView } from '../state/state.ts';
import type { Field } from './request.ts';
import { wrongValue } from './request-error.ts';

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

/** The index of a dex that a question names, or a RequestError. */
export function requireDex(state: StateView, dex: string): number {
  const dexIndex = state.markets.findDex(dex);
  if (dexIndex !== undefined) return dexIndex;
  throw wrongValue('dex', dex, describeDexes(state), 'unknown_dex');
}

const DEXES_SHOWN_MAX = 20;

function describeDexes({ markets }: StateView): string {
  const shown = markets.dexes.slice(0, DEXES_SHOWN_MAX).map(({ name }) => `"${name}"`);
  const hidden = markets.dexes.length - shown.length;
  return `one of ${shown.join(', ')}${hidden > 0 ? ` and ${hidden} more` : ''}`;
}
