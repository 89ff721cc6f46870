/**
 * The options of a push connection, from the query of its URL. The options are the minimum time
 * between two states of a subscription, and whether states are compressed. Compressing a state
 * costs more than writing it.
 */

import { readOne } from '../../info/fields/field.ts';
import { RequestError, wrongValue } from '../../info/request-error.ts';

export interface ConnectionOptions {
  /** The minimum time between two states of a subscription; 0 if the client asks for no minimum. */
  readonly intervalMs: number;
  readonly isCompressed: boolean;
}

/** Intervals are multiples of this step, so that there are few different intervals. */
const INTERVAL_STEP_MS = 250;
const INTERVAL_MS_MAX = 60_000;
const INTERVAL_EXPECTED = `milliseconds, a multiple of ${INTERVAL_STEP_MS} up to ${INTERVAL_MS_MAX}`;

/** Reads the options. Unknown fields of the query are ignored. */
export function readConnectionOptions(query: string): ConnectionOptions | RequestError {
  const fields = new URLSearchParams(query);
  const interval = readOption(fields, 'interval', '0');
  if (interval instanceof RequestError) return interval;
  const compress = readOption(fields, 'compress', 'false');
  if (compress instanceof RequestError) return compress;
  if (!isInterval(interval)) return refuse('interval', interval, INTERVAL_EXPECTED);
  if (!['true', 'false'].includes(compress)) return refuse('compress', compress, 'true or false');
  return { intervalMs: Number(interval), isCompressed: compress === 'true' };
}

function readOption(
  fields: URLSearchParams,
  name: string,
  fallback: string,
): string | RequestError {
  const texts = fields.getAll(name);
  return texts.length === 0 ? fallback : readOne(name, texts);
}

function isInterval(text: string): boolean {
  if (!/^(0|[1-9]\d*)$/.test(text)) return false;
  return Number(text) <= INTERVAL_MS_MAX && Number(text) % INTERVAL_STEP_MS === 0;
}

function refuse(field: string, value: string, expected: string): RequestError {
  return wrongValue(field, value, expected);
}
