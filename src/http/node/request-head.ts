/** What every request has to be, before anyone looks at what it asks: HTTP/1.1 or 1.0, with one Host. */

import type { IncomingMessage } from 'node:http';
import { RequestError } from '../../info/request-error.ts';

export const INFO_METHODS = 'GET, HEAD, POST, OPTIONS';

export function malformedRequest(): RequestError {
  const message = 'request: expected HTTP/1.1 that can be understood';
  return new RequestError('malformed_request', message);
}

/** Refuses other versions, which are HTTP too but not what we speak, and a Host that is unclear. */
export function checkHead({ httpVersion, rawHeaders }: IncomingMessage): void {
  if (httpVersion !== '1.1' && httpVersion !== '1.0') throw malformedRequest();
  const hosts = countHosts(rawHeaders);
  if (hosts > 1 || (hosts === 0 && httpVersion === '1.1')) {
    const got = hosts === 0 ? 'nothing' : `${hosts} of it`;
    const message = `Host: got ${got}, expected the one header that HTTP/1.1 requires`;
    throw new RequestError('malformed_request', message, 'Host');
  }
}

/** Names and values take turns; Node keeps the first of several, and others might take the last. */
function countHosts(rawHeaders: readonly string[]): number {
  let count = 0;
  for (let index = 0; index < rawHeaders.length; index += 2) {
    if (rawHeaders[index].toLowerCase() === 'host') count++;
  }
  return count;
}
