/**
 * The Upgrade header. If a server accepts upgrades at all, Node stops reading HTTP at every request
 * that offers one, although some clients offer HTTP/2 with every ordinary question. A server may ignore
 * the offer, and then treats the request as if it had none.
 */

import type { IncomingMessage } from 'node:http';
import { findRoute } from '../../message/router.ts';

/** Whether a WebSocket is among the offered protocols. */
function wantsWebSocket({ headers }: IncomingMessage): boolean {
  const offers = (headers.upgrade ?? '').split(',').map((offer) => offer.trim().toLowerCase());
  return offers.includes('websocket');
}

/** Whether a request asks for push and offers to become a WebSocket. */
export function offersPush(request: IncomingMessage): boolean {
  const isPush = findRoute(request.url ?? '')?.name === 'ws' && request.method === 'GET';
  return isPush && wantsWebSocket(request);
}

/** The head of the request without its Upgrade header. */
export function formatWithoutOffer({
  method,
  url,
  httpVersion,
  rawHeaders,
}: IncomingMessage): string {
  let text = `${method} ${url} HTTP/${httpVersion}\r\n`;
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index];
    if (name.toLowerCase() !== 'upgrade') text += `${name}: ${rawHeaders[index + 1]}\r\n`;
  }
  return `${text}\r\n`;
}
