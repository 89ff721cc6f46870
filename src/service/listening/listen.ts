import { once } from 'node:events';
import type { AddressInfo, Server } from 'node:net';

/**
 * Maximum number of connections that wait to be accepted. More than Node's default of 511 can arrive in
 * one long turn of the event loop; the system drops the rest, and clients retry only after seconds.
 */
const BACKLOG = 4096;

/** Resolves to the port; the system chooses it if `port` is 0. */
export async function listen(server: Server, port: number, host: string): Promise<number> {
  server.listen({ port, host, backlog: BACKLOG });
  try {
    await once(server, 'listening');
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new Error(`cannot listen on ${host} port ${port} (${code})`, { cause: error });
  }
  return (server.address() as AddressInfo).port;
}
