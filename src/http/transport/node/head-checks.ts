/**
 * Checks the parts of a request's head that Node does not check: the HTTP version, Host and Expect.
 */

import type { IncomingMessage } from 'node:http';
import { RequestError, wrongValue } from '../../../info/request-error.ts';

/**
 * Finds an unknown HTTP version, a missing or repeated Host, or several different Content-Types.
 * Returns undefined if there is no fault.
 */
export function findHeadFault({
  httpVersion,
  rawHeaders,
}: IncomingMessage): RequestError | undefined {
  if (httpVersion !== '1.1' && httpVersion !== '1.0') return refuseVersion(httpVersion);
  const hosts = valuesOf(rawHeaders, 'host').length;
  if (hosts > 1 || (hosts === 0 && httpVersion === '1.1')) return refuseHosts(hosts);
  const types = new Set(valuesOf(rawHeaders, 'content-type')).size;
  return types > 1 ? refuseTypes(types) : undefined;
}

function refuseVersion(version: string): RequestError {
  const message = `version: got HTTP/${version}, expected HTTP/1.1 or HTTP/1.0`;
  return new RequestError('malformed_request', message, 'version');
}

function refuseHosts(count: number): RequestError {
  const got = count === 0 ? 'none' : `${count} of them`;
  const message = `Host: got ${got}, expected exactly one, as HTTP/1.1 requires`;
  return new RequestError('malformed_request', message, 'Host');
}

function refuseTypes(count: number): RequestError {
  const message = `Content-Type: got ${count} different ones, expected one`;
  return new RequestError('malformed_request', message, 'Content-Type');
}

/**
 * Returns all values of a header from `rawHeaders` (name, value, name, ...). `headers` is not used,
 * because `headers` keeps only the first Host and the first Content-Type.
 */
function valuesOf(rawHeaders: readonly string[], header: string): string[] {
  return rawHeaders.filter(
    (_, index) => index % 2 === 1 && rawHeaders[index - 1].toLowerCase() === header,
  );
}

/** Returns true if the client waits for a 100 Continue. HTTP/1.0 does not have 100 Continue. */
export function expectsContinue({ httpVersion, headers }: IncomingMessage): boolean {
  return headers.expect !== undefined && httpVersion === '1.1';
}

export function findExpectationFault({ headers }: IncomingMessage): RequestError | undefined {
  if (headers.expect === undefined || /^100-continue$/i.test(headers.expect)) return undefined;
  return wrongValue('Expect', headers.expect, '100-continue or nothing', 'malformed_request');
}
