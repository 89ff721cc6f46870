/** Writes responses on Node's server. */

import type { ServerResponse } from 'node:http';
import {
  COMMON_HEADERS,
  firstHeaders,
  type HeaderName,
  type HeaderSink,
  hasBody,
  LEDGER_HEIGHT,
  LEDGER_TIME,
  putClose,
  putHeaders,
  type Reply,
} from '../../message/reply.ts';
import { expectsContinue } from './head-checks.ts';
import { asRequestStream } from './request-stream.ts';

type Headers = Record<string, string | number>;

class HeaderObject implements HeaderSink {
  readonly headers: Headers;

  constructor(first: Readonly<Headers>) {
    this.headers = { ...first };
  }

  putNumber({ name }: HeaderName, value: number): void {
    this.headers[name] = value;
  }

  putText({ name }: HeaderName, value: string): void {
    this.headers[name] = value;
  }

  putPosition(height: number, time: number): void {
    this.putNumber(LEDGER_HEIGHT, height);
    this.putNumber(LEDGER_TIME, time);
  }
}

/**
 * Returns true if the connection must be closed after the response. The connection is closed after
 * the last response while the service drains. It is also closed after a response that is sent
 * instead of 100 Continue, because the client may still send the body.
 */
function isLastResponse({ req: request, shouldKeepAlive }: ServerResponse): boolean {
  const isUnclear = expectsContinue(request) && !request.complete;
  return !shouldKeepAlive || isUnclear || asRequestStream(request.socket).isLastRequest;
}

export function sendReply(response: ServerResponse, reply: Reply): void {
  const body = hasBody(reply) ? bodyOf(reply) : '';
  const sink = new HeaderObject(firstHeaders(reply));
  putHeaders(reply, Buffer.byteLength(body), sink);
  if (reply.isLast || isLastResponse(response)) putClose(sink);
  response.writeHead(reply.status, sink.headers);
  response.end(body);
}

function bodyOf({ body }: Reply): string | Buffer {
  return Buffer.isBuffer(body) ? body : body.toString();
}

/** Writes the head of a response that is not a Reply, such as a page or a file. */
export function writeHead(
  response: ServerResponse,
  status: number,
  headers: Readonly<Headers>,
): void {
  const sink = new HeaderObject(headers);
  if (isLastResponse(response)) putClose(sink);
  response.writeHead(status, sink.headers);
}

/** Sends a page. The default Content-Type is JSON. */
export function sendPage(
  response: ServerResponse,
  body: string,
  { status = 200, headers = {} }: { readonly status?: number; readonly headers?: Headers } = {},
): void {
  const length = Buffer.byteLength(body);
  writeHead(response, status, { ...COMMON_HEADERS, 'Content-Length': length, ...headers });
  response.end(body);
}
