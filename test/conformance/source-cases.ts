/** Questions that the archive or the exchange answers: about a height of the past, and passed on. */

import { OWN_TYPES } from '../../src/info/question-types.ts';
import { FORWARDED_EXAMPLES } from '../../tools/stub-exchange/forwarded-answers.ts';
import type { Subjects } from './case.ts';

export interface SourceCase {
  readonly name: string;
  readonly question: Readonly<Record<string, unknown>>;
  /** Passed on to the exchange, which gives this answer; otherwise the archive answers. */
  readonly exchangeAnswer?: string;
}

interface Deviation {
  readonly case: string;
  readonly transport: string;
  readonly reason: string;
}

export const PAST_HEIGHT = 30;

const NO_OBJECTS = 'a query string cannot have the object that the question needs';

/**
 * Transports on which a case does not have the answer of the table. A listed case that passes fails the
 * run, so that it is taken off the list.
 */
export const DEVIATIONS: readonly Deviation[] = [
  { case: 'passed on: candleSnapshot 1', transport: 'GET (the fast lane)', reason: NO_OBJECTS },
  { case: 'passed on: candleSnapshot 1', transport: "GET (Node's server)", reason: NO_OBJECTS },
  {
    ...{ case: 'past: accountHistory as CSV', transport: 'push' },
    reason: 'a frame is JSON: CSV is a text in it, with the same lines',
  },
];

/** With --forward, these have the exchange's answer, and refuse a moment of the past. */
function isForwardedOnly(type: string): boolean {
  return (
    FORWARDED_EXAMPLES.some((example) => example.type === type) && !FROM_ARCHIVE.includes(type)
  );
}

const FROM_ARCHIVE = ['allMids', 'metaAndAssetCtxs'];

function listPastCases({ user, dex, table, coin }: Subjects & { coin: string }): SourceCase[] {
  const values: Readonly<Record<string, unknown>> = {
    ...{ user, dex, coin, id: table, users: [user, 'nobody'] },
  };
  const cases = OWN_TYPES.filter(({ type }) => !isForwardedOnly(type)).map(({ type, fields }) => {
    const given = Object.keys(fields)
      .filter((name) => values[name] !== undefined)
      .map((name) => [name, values[name]]);
    const question = { type, ...Object.fromEntries(given), atHeight: PAST_HEIGHT };
    return { name: `past: ${type}`, question };
  });
  const csv = { type: 'accountHistory', user, atHeight: PAST_HEIGHT, format: 'csv' };
  return [...cases, { name: 'past: accountHistory as CSV', question: csv }];
}

function listForwardedCases(): SourceCase[] {
  return FORWARDED_EXAMPLES.flatMap(({ type, fields, answers }) =>
    answers.map((answer, index) => ({
      name: `passed on: ${type} ${index + 1}`,
      // A field that only this case has: equal questions may share an answer.
      question: { type, ...fields, variant: `${index}` },
      exchangeAnswer: JSON.stringify(answer),
    })),
  );
}

export function listSourceCases(subjects: Subjects & { coin: string }): SourceCase[] {
  return [...listPastCases(subjects), ...listForwardedCases()];
}
