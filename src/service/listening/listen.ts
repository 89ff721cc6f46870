import { once } from 'node:events';
import type { AddressInfo, Server } from 'node:net';

/**
 * Maximum number of connections that wait to be accepted. More connections than Node's default of
 * 511 can arrive during one long turn of the event loop. The system drops the connections beyond
 * the limit, and their clients retry only after seconds.
 */
const BACKLOG = 4096;

/** Resolves to the port. If `port` is 0, the system chooses a free port. */
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
