import type { NatsConnection } from '@nats-io/transport-node';

/** The private fields in which the client stores its socket. Each may be missing in another version. */
interface PrivateParts {
  readonly protocol?: { readonly transport?: { readonly socket?: { destroy?(): void } } };
}

/**
 * Destroys the socket of a connection to a server that no longer answers; returns false if the
 * client has no socket where we look for it. The client itself flushes its buffer first. If the
 * server does not read, this flush ends only when TCP gives up, after a quarter of an hour
 * (docs/internals/private-hooks.md).
 */
export function dropSocket(connection: NatsConnection): boolean {
  const socket = (connection as PrivateParts).protocol?.transport?.socket;
  if (typeof socket?.destroy !== 'function') return false;
  socket.destroy();
  return true;
}
