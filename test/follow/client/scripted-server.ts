/** An upstream in this process that does with each request what a test says. */

import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import type { TestContext } from 'node:test';

interface SeenRequest {
  readonly path: string;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
}

export type Respond = (response: ServerResponse, seen: SeenRequest) => void;

export interface ScriptedServer {
  readonly base: string;
  readonly port: number;
  readonly seen: SeenRequest[];
  /** What is done with the requests from now on. */
  respond: Respond;
  close(): Promise<void>;
}

export function json(value: unknown, status = 200): Respond {
  return (response) => {
    response.writeHead(status, { 'content-type': 'application/json' });
    response.end(JSON.stringify(value));
  };
}

export function plain(status: number, body: string): Respond {
  return (response) => {
    response.writeHead(status, { 'content-type': 'text/plain' });
    response.end(body);
  };
}

/** Never answers. */
export const HANG: Respond = () => undefined;

/** Closes the connection without an answer. */
export const RESET: Respond = (response) => void response.socket?.resetAndDestroy();

export async function startServer(
  t: TestContext,
  respond: Respond,
  port = 0,
): Promise<ScriptedServer> {
  const seen: SeenRequest[] = [];
  const server = createServer(async (request, response) => {
    const { url: path = '', headers } = request;
    const arrived = { path, headers, body: await text(request) };
    seen.push(arrived);
    scripted.respond(response, arrived);
  });
  await new Promise<void>((resolve) => void server.listen(port, '127.0.0.1', resolve));
  const address = server.address() as AddressInfo;
  const close = () =>
    new Promise<void>((resolve) => {
      server.close(() => resolve());
      server.closeAllConnections();
    });
  const scripted: ScriptedServer = {
    base: `http://127.0.0.1:${address.port}`,
    port: address.port,
    seen,
    respond,
    close,
  };
  t.after(close);
  return scripted;
}
