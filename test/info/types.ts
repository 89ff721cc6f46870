/** The types of question, as an error lists them. */

import { OWN_TYPES, PUSHED_TYPES } from '../../src/info/question-types.ts';

export const TYPES = OWN_TYPES.map(({ type }) => type).join(', ');

/** The types that can be subscribed to. */
export const SUBSCRIPTIONS = PUSHED_TYPES.map(({ type }) => type).join(', ');
