/**
 * Offers to change the protocol. Once a server takes upgrades at all, Node stops reading HTTP at every
 * request that offers one, also those that come with an ordinary question: some clients offer HTTP/2
 * with every request. Such an offer may be passed over, and then the request counts as if it had not
 * been made.
 */

import type { IncomingMessage } from 'node:http';
import { findRoute } from '../router.ts';

/** Whether a WebSocket is among the protocols that are offered. */
function wantsWebSocket({ headers }: IncomingMessage): boolean {
  const offers = (headers.upgrade ?? '').split(',').map((offer) => offer.trim().toLowerCase());
  return offers.includes('websocket');
}

/** Whether a request asks for push, with the offer that this takes. */
export function offersPush(request: IncomingMessage): boolean {
  const isPush = findRoute(request.url ?? '')?.name === 'ws' && request.method === 'GET';
  return isPush && wantsWebSocket(request);
}

/** The head of the request as it would be without its offer. */
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
