/** Creates replies that refuse a request, and the reply to a CORS preflight. */

import { RequestError } from '../../info/request-error.ts';
import { Reply } from './reply.ts';
import { MIN_HEIGHT_HEADER } from './request-head.ts';

export const MALFORMED_REQUEST = new RequestError(
  'malformed_request',
  'request: expected a well-formed HTTP/1.1 request',
);

export const CUT_REQUEST = new RequestError(
  'malformed_request',
  'request: got the end of the connection within a request, expected all headers and a body as long as announced',
);

/** Whether the reason is our own limit or failure, and not a minimum height that the client asked for. */
export function isOurs({ status, field }: RequestError): boolean {
  return (status === 429 || status >= 500) && field !== MIN_HEIGHT_HEADER;
}

export function refusalReply(refusal: RequestError, type?: string): Reply {
  const reply = new Reply(refusal.status, type);
  reply.refusal = refusal;
  reply.body = refusal.toJson();
  return reply;
}

/**
 * Creates the reply to bytes that are not a valid request. The connection is closed after this
 * reply.
 */
export function replyToBadBytes(refusal: RequestError, allow?: string): Reply {
  const reply = refusalReply(refusal);
  reply.allow = allow;
  reply.isLast = true;
  return reply;
}

/** Creates the reply to OPTIONS, with the methods that the route accepts. */
export function replyToPreflight({ allow }: Pick<Reply, 'allow'>): Reply {
  const reply = new Reply(204);
  reply.allow = allow;
  return reply;
}
