/** Checks of a request's head that Node leaves to us: the HTTP version, Host and Expect. */

import type { IncomingMessage } from 'node:http';
import { RequestError, wrongValue } from '../../info/request-error.ts';

export const MALFORMED_REQUEST = new RequestError(
  'malformed_request',
  'request: expected a well-formed HTTP/1.1 request',
);

/** A version other than 1.0 and 1.1, or a missing or repeated Host. */
export function findHeadFault({
  httpVersion,
  rawHeaders,
}: IncomingMessage): RequestError | undefined {
  if (httpVersion !== '1.1' && httpVersion !== '1.0') return MALFORMED_REQUEST;
  const hosts = countHosts(rawHeaders);
  if (hosts === 1 || (hosts === 0 && httpVersion === '1.0')) return undefined;
  const got = hosts === 0 ? 'none' : `${hosts} of them`;
  const message = `Host: got ${got}, expected exactly one, as HTTP/1.1 requires`;
  return new RequestError('malformed_request', message, 'Host');
}

/** Counted in `rawHeaders` (name, value, name, ...): `headers` keeps only the first Host. */
function countHosts(rawHeaders: readonly string[]): number {
  let count = 0;
  for (let index = 0; index < rawHeaders.length; index += 2) {
    if (rawHeaders[index].toLowerCase() === 'host') count++;
  }
  return count;
}

/** Whether the client waits for a 100 Continue, which HTTP/1.0 does not have. */
export function expectsContinue({ httpVersion, headers }: IncomingMessage): boolean {
  return headers.expect !== undefined && httpVersion === '1.1';
}

export function findExpectationFault({ headers }: IncomingMessage): RequestError | undefined {
  if (headers.expect === undefined || /^100-continue$/i.test(headers.expect)) return undefined;
  return wrongValue('Expect', headers.expect, '100-continue or nothing', 'malformed_request');
}
