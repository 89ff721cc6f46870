/**
 * Drains the connections when the service stops (SIGTERM, SIGINT, SIGHUP). Requests in flight are
 * finished, idle connections are closed, and all connections that are still open at the deadline
 * are destroyed.
 */

import type { Server } from 'node:net';
import type { ClientConnection } from './client-connection.ts';
import type { OpenConnections } from './open-connections.ts';

/** The interval between two checks of the draining connections. */
const DRAIN_CHECK_MS = 20;
/**
 * An idle connection is closed after this number of checks. The wait is needed because the client's
 * next request may be in flight; its response then contains `Connection: close`. Checks are counted
 * instead of time, because nothing is read during a long turn of the event loop. A deadline could
 * miss a request that has already arrived.
 */
const IDLE_CHECKS = 15;
/**
 * New clients may still connect during a drain. Connections are accepted for at most this share of
 * the timeout.
 */
const ACCEPT_SHARE_MAX = 0.5;

/**
 * Accepts the connections that wait in the backlog of the listening socket, and closes each
 * connection when it is idle. The last response of each connection contains `Connection: close`.
 * Connections that are open after the timeout are destroyed.
 */
export function drainServer(server: Server, connections: OpenConnections, timeoutMs: number): void {
  if (!connections.isDraining) closeOnceIdle(connections);
  const deadlineMs = performance.now() + timeoutMs * ACCEPT_SHARE_MAX;
  setImmediate(() => closeOnceAccepted(server, connections, deadlineMs));
  const late = setTimeout(() => connections.destroyAll(), timeoutMs);
  server.once('close', () => clearTimeout(late));
}

/**
 * Stops listening when the backlog is empty. Node accepts at least one waiting connection in each
 * turn of the event loop, so the backlog is empty after a turn without a new connection. Immediates
 * are used because they run after sockets were polled. Timers may run twice without a poll in
 * between.
 */
function closeOnceAccepted(server: Server, connections: OpenConnections, deadlineMs: number): void {
  const { acceptedCount } = connections;
  setImmediate(() => {
    const isNew = connections.acceptedCount > acceptedCount;
    if (isNew && performance.now() < deadlineMs) closeOnceAccepted(server, connections, deadlineMs);
    else server.close();
  });
}

/** Closes each connection when it is idle, until no connection is left. */
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
  // Push closes its connections itself.
  if (connection.isReleased) return false;
  const last = idleness.get(connection);
  const isQuiet = last?.bytesRead === bytesRead && !connection.isBusy;
  const checks = isQuiet ? last.checks + 1 : 0;
  idleness.set(connection, { bytesRead, checks });
  return checks >= IDLE_CHECKS;
}
