/**
 * The HTTP server by which a test controls the stub. It has no faults, and its requests are not
 * counted.
 */

import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';

type Json = ReturnType<typeof JSON.parse>;
/** The action of the stub for each path. */
export type Commands = Readonly<Record<string, (body: Json) => unknown>>;

export class StubControl {
  readonly #server: Server;

  constructor(commands: Commands) {
    this.#server = createServer((request, response) => {
      obey(commands, request, response).catch((error: unknown) => {
        response.writeHead(500).end(String(error));
      });
    });
  }

  async listen(port: number): Promise<number> {
    // With keep-alive, a connection that is closed while it is reused would fail a test's command.
    this.#server.keepAliveTimeout = 0;
    await new Promise<void>((resolve) => this.#server.listen(port, '127.0.0.1', resolve));
    return (this.#server.address() as AddressInfo).port;
  }

  close(): void {
    this.#server.close();
    this.#server.closeAllConnections();
  }
}

async function obey(
  commands: Commands,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const body = await text(request);
  const command = commands[(request.url ?? '/').slice(1)];
  if (command === undefined) {
    response.writeHead(404).end();
    return;
  }
  const result = await command(body === '' ? {} : JSON.parse(body));
  response.writeHead(200, { 'Content-Type': 'application/json' });
  response.end(JSON.stringify(result ?? null));
}
