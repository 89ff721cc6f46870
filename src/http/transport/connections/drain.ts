/**
 * Draining, when the service stops (SIGTERM, SIGINT, SIGHUP): requests in flight are finished, idle connections
 * are closed, and those that are left at the deadline are destroyed.
 */

import type { Server } from 'node:net';
import type { ClientConnection } from './client-connection.ts';
import type { OpenConnections } from './open-connections.ts';

/** How often connections are checked while they drain. */
const DRAIN_CHECK_MS = 20;
/**
 * Number of checks after which an idle connection is closed: a client's next request may be in flight,
 * and its response then says Connection: close. Checks are counted, not time, because nothing is read
 * during a long turn of the event loop, and a request that has arrived would be missed.
 */
const IDLE_CHECKS = 15;
/** Share of the timeout in which connections are accepted, if new clients keep coming. */
const ACCEPT_SHARE_MAX = 0.5;

/**
 * Accepts the connections that wait in the backlog, and closes each once it is idle; the last responses
 * say `Connection: close`. Connections left after the timeout are destroyed.
 */
export function drainServer(server: Server, connections: OpenConnections, timeoutMs: number): void {
  if (!connections.isDraining) closeOnceIdle(connections);
  const deadlineMs = performance.now() + timeoutMs * ACCEPT_SHARE_MAX;
  setImmediate(() => closeOnceAccepted(server, connections, deadlineMs));
  const late = setTimeout(() => connections.destroyAll(), timeoutMs);
  server.once('close', () => clearTimeout(late));
}

/**
 * One connection is accepted per turn of the event loop, so after a turn without any the backlog is
 * empty. Immediates run after sockets were polled; timers may run twice without that.
 */
function closeOnceAccepted(server: Server, connections: OpenConnections, deadlineMs: number): void {
  const { acceptedCount } = connections;
  setImmediate(() => {
    const isNew = connections.acceptedCount > acceptedCount;
    if (isNew && performance.now() < deadlineMs) closeOnceAccepted(server, connections, deadlineMs);
    else server.close();
  });
}

/** Closes each connection once it is idle, until none is left. */
function closeOnceIdle(connections: OpenConnections): void {
  const idleness: IdlenessTable = new WeakMap();
  const closeIdle = () => {
    for (const connection of connections.all) {
      if (isIdle(connection, idleness)) connection.endSoon();
    }
    if (connections.all.size === 0) clearInterval(timer);
  };
  connections.startDraining();
  const timer = setInterval(closeIdle, DRAIN_CHECK_MS);
  closeIdle();
}

type IdlenessTable = WeakMap<ClientConnection, { bytesRead: number; checks: number }>;

function isIdle(connection: ClientConnection, idleness: IdlenessTable): boolean {
  const { bytesRead } = connection.socket;
  // Push closes its own connections.
  if (connection.isReleased) return false;
  const last = idleness.get(connection);
  const isQuiet = last?.bytesRead === bytesRead && !connection.isBusy;
  const checks = isQuiet ? last.checks + 1 : 0;
  idleness.set(connection, { bytesRead, checks });
  return checks >= IDLE_CHECKS;
}
