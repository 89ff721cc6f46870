/**
 * The refusals of bytes that Node could not read as a request: the bytes are invalid, too long, or
 * too late.
 */

import { RequestError } from '../../../info/request-error.ts';
import { CUT_REQUEST, MALFORMED_REQUEST } from '../../message/refusal-reply.ts';
import type { HttpSettings } from '../../settings.ts';
import { refuseLateness } from '../connections/timeouts.ts';

/** An error of the connection, or of Node's parser. Errors of the parser have a `reason`. */
export type ClientError = NodeJS.ErrnoException & { readonly reason?: string };

/** Returns the refusal of the client's bytes; returns undefined if the connection itself failed. */
export function describeClientError(
  { code = '', reason = '' }: ClientError,
  settings: Pick<HttpSettings, 'headerBytesMax' | 'headerTimeout' | 'requestTimeout'>,
): RequestError | undefined {
  if (code === 'HPE_HEADER_OVERFLOW') {
    const message = `headers: got more than ${settings.headerBytesMax} bytes, expected at most ${settings.headerBytesMax}`;
    return new RequestError('headers_too_large', message, 'headers');
  }
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') return refuseLateness(settings);
  if (code === 'HPE_CHUNK_EXTENSIONS_OVERFLOW') {
    const message = 'body: chunk extensions are too long, expected none';
    return new RequestError('body_too_large', message, 'body');
  }
  if (!code.startsWith('HPE_')) return undefined;
  // The reason is checked before the code, because the code depends on which of the two headers
  // comes first.
  if (reason.includes("can't be present with")) return TWO_FRAMINGS;
  return SYNTAX_FAULTS[code] ?? MALFORMED_REQUEST;
}

const TWO_FRAMINGS = malformed(
  'Transfer-Encoding',
  'got it in a request that has Content-Length as well, expected only one of the two',
);

/** For these codes, Node reports which part of the request is wrong, but not the value. */
const SYNTAX_FAULTS: Readonly<Record<string, RequestError>> = {
  HPE_INVALID_CONTENT_LENGTH: malformed(
    'Content-Length',
    'got an invalid value, expected one whole number of bytes',
  ),
  HPE_UNEXPECTED_CONTENT_LENGTH: malformed(
    'Content-Length',
    'got a second value, expected one whole number of bytes, once',
  ),
  HPE_INVALID_TRANSFER_ENCODING: malformed(
    'Transfer-Encoding',
    'got a value that does not end with chunked, expected chunked alone',
  ),
  HPE_INVALID_CHUNK_SIZE: malformed(
    'body',
    'got a chunk without a valid size, expected its number of bytes in hexadecimal digits',
  ),
  HPE_INVALID_EOF_STATE: CUT_REQUEST,
  HPE_INVALID_VERSION: malformed(
    'version',
    'got an unknown version, expected HTTP/1.1 or HTTP/1.0',
  ),
};

function malformed(field: string, fault: string): RequestError {
  return new RequestError('malformed_request', `${field}: ${fault}`, field);
}
