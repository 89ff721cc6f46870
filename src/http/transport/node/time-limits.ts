/**
 * Starts the time limits of an HTTP server that does not listen. Node documents the event `connection`, by
 * which our own server hands over what it accepts, but not that its HTTP server looks for slow requests only
 * from its event `listening` on. If a version of Node does not start that way, nothing refuses slow requests
 * on Node's server (docs/internals/private-hooks.md).
 */

import type { Server } from 'node:http';

export function startTimeLimits(server: Server): void {
  server.emit('listening');
}
