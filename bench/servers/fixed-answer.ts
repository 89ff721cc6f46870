/**
 * A server that answers every POST with the same body, which it reads from a file:
 *
 *   node build/bench/servers/fixed-answer.js net|node|fastify FILE
 *
 * The system chooses the port. The server prints the port in a line of JSON, as perpinfo does.
 */

import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { type AddressInfo, createServer as createSocketServer } from 'node:net';
import fastify from 'fastify';

const HOST = '127.0.0.1';

function tellPort(address: AddressInfo): void {
  console.log(JSON.stringify({ msg: 'listening', port: address.port }));
}

function servePlain(body: string): void {
  const headers = { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(body) };
  const server = createServer((request, response) => {
    request.resume();
    request.on('end', () => response.writeHead(200, headers).end(body));
  });
  server.listen(0, HOST, () => tellPort(server.address() as AddressInfo));
}

const END_OF_BODY = '}'.charCodeAt(0);

/**
 * Uses only sockets, which is the least work that Node can do. Of the received bytes it checks only
 * the end of the body. Load generators wait for each answer, so that a read never has bytes after
 * the end of a request.
 */
function serveBytes(body: string): void {
  const head = `HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: ${Buffer.byteLength(body)}`;
  const response = Buffer.from(`${head}\r\n\r\n${body}`);
  const server = createSocketServer({ noDelay: true }, (socket) => {
    socket.on('data', (bytes) => {
      if (bytes[bytes.length - 1] === END_OF_BODY) socket.write(response);
    });
    socket.on('error', () => socket.destroy());
  });
  server.listen(0, HOST, () => tellPort(server.address() as AddressInfo));
}

async function serveFastify(body: string): Promise<void> {
  const application = fastify();
  application.post('/:key/info', (_request, reply) => reply.type('application/json').send(body));
  await application.listen({ port: 0, host: HOST });
  tellPort(application.server.address() as AddressInfo);
}

const [kind, file] = process.argv.slice(2);
const body = readFileSync(file, 'utf8');
if (kind === 'fastify') await serveFastify(body);
else if (kind === 'node') servePlain(body);
else serveBytes(body);
