/** The settings of a new access key. */

import type { Declarations } from '../config/setting.ts';
import { budgetType, expiry, labelType, text } from '../config/value-types.ts';

export const KEY_SETTINGS = {
  label: {
    group: 'keys create',
    type: labelType,
    default: '',
    help: 'label of the key, so that you recognize the key in lists',
  },
  budget: {
    group: 'keys create',
    type: budgetType,
    default: undefined,
    help: 'rate limit of the key, such as 1200/min; a period is s, min or h (default: no limit)',
  },
  expires: {
    group: 'keys create',
    type: expiry,
    default: undefined,
    help: 'when the key expires: a time such as 2027-01-31T00:00:00Z, or 30d, 12h (default: never)',
  },
  key: {
    group: 'keys create',
    type: text('ID'),
    default: undefined,
    help: 'add a second secret to this key instead of creating a key',
  },
} as const satisfies Declarations;
