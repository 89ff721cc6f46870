/**
 * The fields `atHeight` and `atTime`, which every question may have. They name a moment of the
 * past; without them, a question is about the present.
 */

import { describeValue } from '../../events/refusal.ts';
import { RequestError, wrongValue } from '../request-error.ts';
import { wholeField } from './whole-number-field.ts';

/** A moment of the past: exactly one of the members is defined. */
export interface PastMoment {
  readonly height?: number;
  readonly time?: number;
}

export const PAST_MOMENT_FIELDS = {
  atHeight: wholeField('answer as of this height, from the archive', { from: 1 }),
  atTime: wholeField(
    'answer as of the last block that is not later than this time, in milliseconds',
  ),
};

/** Returns the moment, or its refusal; returns undefined if the question is about the present. */
export function readMoment(
  source: Readonly<Record<string, unknown>>,
): PastMoment | RequestError | undefined {
  const { atHeight, atTime } = source;
  if (atHeight === undefined && atTime === undefined) return undefined;
  if (atHeight !== undefined && atTime !== undefined) {
    const message = `atTime: got ${describeValue(atTime)} and also atHeight, expected only one of them`;
    return new RequestError('invalid_field', message, 'atTime');
  }
  const name = atHeight === undefined ? 'atTime' : 'atHeight';
  const value = PAST_MOMENT_FIELDS[name].read(name, source[name]);
  if (value instanceof RequestError) return value;
  return atHeight === undefined ? { time: value } : { height: value };
}

/**
 * Returns the refusal of a moment in a question that is always about the present; returns undefined
 * if the question names no moment.
 */
export function findMomentFault(
  source: Readonly<Record<string, unknown>>,
  reason: string,
): RequestError | undefined {
  const name = Object.keys(PAST_MOMENT_FIELDS).find((field) => source[field] !== undefined);
  if (name === undefined) return undefined;
  return wrongValue(name, source[name], `none: ${reason}`);
}
