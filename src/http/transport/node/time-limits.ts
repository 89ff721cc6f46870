/**
 * Starts the time limits of an HTTP server that does not listen. Our own server passes its
 * connections to this HTTP server with the event `connection`, which Node documents. Node does not
 * document that its HTTP server checks for slow requests only after its event `listening`. If a
 * version of Node does not start its checks at this event, nothing refuses slow requests on Node's
 * server (docs/internals/private-hooks.md).
 */

import type { Server } from 'node:http';

export function startTimeLimits(server: Server): void {
  server.emit('listening');
}
