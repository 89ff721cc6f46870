/** Listening on a port. */

import { once } from 'node:events';
import type { AddressInfo, Server } from 'node:net';

/**
 * Maximum number of connections that wait to be accepted. The system drops further ones, and clients
 * retry after one to three seconds: Node's default of 511 can arrive in one long turn of the loop.
 */
const BACKLOG = 4096;

/** Resolves to the port, which the system chooses where 0 is given. */
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
