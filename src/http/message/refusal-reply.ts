/** Replies without an answer. */

import { RequestError } from '../../info/request-error.ts';
import { Reply } from './reply.ts';
import { MIN_HEIGHT_HEADER } from './request-head.ts';

export const MALFORMED_REQUEST = new RequestError(
  'malformed_request',
  'request: expected a well-formed HTTP/1.1 request',
);

/** Whether a refusal is for a limit or a failure of ours, not for a wait that the client asked for. */
export function isOurs({ status, field }: RequestError): boolean {
  return (status === 429 || status >= 500) && field !== MIN_HEIGHT_HEADER;
}

export function refusalReply(refusal: RequestError, type?: string): Reply {
  const reply = new Reply(refusal.status, type);
  reply.refusal = refusal;
  reply.body = refusal.toJson();
  return reply;
}

/** The reply to bytes that are not a valid request; it is the last on its connection. */
export function replyToBadBytes(refusal: RequestError, allow?: string): Reply {
  const reply = refusalReply(refusal);
  reply.allow = allow;
  reply.isLast = true;
  return reply;
}

/** Lists the methods that a route takes. */
export function replyToPreflight({ allow }: Pick<Reply, 'allow'>): Reply {
  const reply = new Reply(204);
  reply.allow = allow;
  return reply;
}
