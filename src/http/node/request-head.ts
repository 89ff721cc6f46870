/** What every request on Node's server has to be: HTTP/1.1 or 1.0, with one Host. */

import type { IncomingMessage } from 'node:http';
import { describeValue } from '../../events/refusal.ts';
import { RequestError } from '../../info/request-error.ts';

export const MALFORMED_REQUEST = new RequestError(
  'malformed_request',
  'request: expected HTTP/1.1 that can be understood',
);

/** Refuses other versions, which are HTTP too but not what we speak, and a Host that is unclear. */
export function refuseHead({ httpVersion, rawHeaders }: IncomingMessage): RequestError | undefined {
  if (httpVersion !== '1.1' && httpVersion !== '1.0') return MALFORMED_REQUEST;
  const hosts = countHosts(rawHeaders);
  if (hosts === 1 || (hosts === 0 && httpVersion === '1.0')) return undefined;
  const got = hosts === 0 ? 'nothing' : `${hosts} of it`;
  const message = `Host: got ${got}, expected the one header that HTTP/1.1 requires`;
  return new RequestError('malformed_request', message, 'Host');
}

/** Names and values take turns; Node keeps the first of several, and others might take the last. */
function countHosts(rawHeaders: readonly string[]): number {
  let count = 0;
  for (let index = 0; index < rawHeaders.length; index += 2) {
    if (rawHeaders[index].toLowerCase() === 'host') count++;
  }
  return count;
}

/** Whether the client asks before it sends the body; HTTP/1.0 has no consent. */
export function awaitsConsent({ httpVersion, headers }: IncomingMessage): boolean {
  return headers.expect !== undefined && httpVersion === '1.1';
}

export function refuseExpectation({ headers }: IncomingMessage): RequestError | undefined {
  if (headers.expect === undefined || /^100-continue$/i.test(headers.expect)) return undefined;
  const message = `Expect: got ${describeValue(headers.expect)}, expected 100-continue or nothing`;
  return new RequestError('malformed_request', message, 'Expect');
}
