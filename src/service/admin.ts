/** The admin port, which serves metrics apart from the public port. */

import { createServer, type Server } from 'node:http';
import { listen } from './listen.ts';

export interface AdminServer {
  readonly port: number;
  close(): void;
}

export interface AdminOptions {
  readonly host: string;
  readonly port: number;
  /** The metrics in Prometheus' text format. */
  metrics(): Promise<string>;
}

/** Maximum number of connections; further ones are closed. One program or two read the metrics. */
const CONNECTIONS_MAX = 64;
const TEXT_TYPE = 'text/plain; version=0.0.4; charset=utf-8';

export async function startAdmin({ host, port, metrics }: AdminOptions): Promise<AdminServer> {
  const server: Server = createServer(async (request, response) => {
    const isMetrics = request.url === '/metrics' && request.method === 'GET';
    try {
      const text = isMetrics ? await metrics() : 'GET /metrics\n';
      response.writeHead(isMetrics ? 200 : 404, { 'Content-Type': TEXT_TYPE }).end(text);
    } catch {
      // A restarting worker may not answer in time.
      response.writeHead(503, { 'Content-Type': TEXT_TYPE }).end('try again\n');
    }
  });
  server.maxConnections = CONNECTIONS_MAX;
  return {
    port: await listen(server, port, host),
    close() {
      server.close();
      server.closeAllConnections();
    },
  };
}
