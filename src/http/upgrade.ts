/**
 * Offers to change the protocol. Once a server takes upgrades at all, Node stops reading HTTP at every
 * request that offers one, also those that come with an ordinary question: some clients offer HTTP/2
 * with each first request. Such an offer may be passed over, and then the request counts as if it had
 * not been made.
 */

import type { IncomingMessage, Server } from 'node:http';
import type { Socket } from 'node:net';

/** Whether a WebSocket is among the protocols that are offered. */
export function wantsWebSocket({ headers }: IncomingMessage): boolean {
  const offers = (headers.upgrade ?? '').split(',').map((offer) => offer.trim().toLowerCase());
  return offers.includes('websocket');
}

/** Gives a connection back to the server to read on, from the same request without its offer. */
export function forgoUpgrade(
  server: Server,
  request: IncomingMessage,
  socket: Socket,
  head: Buffer,
): void {
  const bytes = Buffer.from(formatWithoutOffer(request), 'latin1');
  socket.unshift(Buffer.concat([bytes, head]));
  server.emit('connection', socket);
}

function formatWithoutOffer({ method, url, httpVersion, rawHeaders }: IncomingMessage): string {
  let text = `${method} ${url} HTTP/${httpVersion}\r\n`;
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index];
    if (name.toLowerCase() !== 'upgrade') text += `${name}: ${rawHeaders[index + 1]}\r\n`;
  }
  return `${text}\r\n`;
}
