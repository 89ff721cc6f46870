/**
 * Reads a pushed frame of `fastAssetCtxs`. The frame is compressed if it comes from an exchange,
 * and plain JSON if it comes from another perpinfo.
 */

import { InflateError, readInflatedJson } from '../../client/answers/inflated-json.ts';
import { DialectError } from '../../dialect/dialect.ts';
import { type PriceReading, readFastAssetCtxs } from '../../dialect/mark-answers.ts';
import type { MarketDirectory } from '../../dialect/market-directory.ts';

const FIELD = 'fastAssetCtxs';

export function readFastFrame(
  data: unknown,
  directory: MarketDirectory,
): PriceReading | DialectError {
  const contexts = typeof data === 'string' ? readInflatedJson(data) : data;
  if (!(contexts instanceof InflateError)) return readFastAssetCtxs(contexts, directory);
  const { expected: ours, found: theirs } = contexts;
  return new DialectError('shape', { field: FIELD, coin: undefined, ours, theirs });
}
