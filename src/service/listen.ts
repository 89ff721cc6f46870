/** Taking a port. */

import { once } from 'node:events';
import type { AddressInfo, Server } from 'node:net';

/**
 * How many connections may wait to be accepted. Where they are more, the system drops them, and clients
 * try again after a second, or after three: the usual 511 come in during one long turn.
 */
const BACKLOG = 4096;

/** Resolves to the port that is listened on, which the system chooses where 0 is asked for. */
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
