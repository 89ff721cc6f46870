/**
 * A TCP proxy in front of a service, for clients that a test cannot look into. The proxy passes all bytes on
 * unchanged. It also reads the requests, responses and WebSocket frames, and checks each answer against the
 * schema of its type.
 */

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { checkFrame, checkResponse } from './answer-checks.ts';
import { HEAD_END, parseResponse } from './raw-client.ts';
import type { Cleanup } from './running.ts';

const TEXT = 1;
const CONTINUATION = 0;

/**
 * Starts a proxy in front of a port, and returns the proxy's port. At the end of the test, an
 * answer that does not fit is an error.
 */
export async function startCheckingProxy(context: Cleanup, port: number): Promise<number> {
  const faults: unknown[] = [];
  let checked = 0;
  const sockets = new Set<Socket>();
  const server = createServer({ noDelay: true }, (client) => {
    const service = connect({ port, host: '127.0.0.1', noDelay: true });
    const watch = new WatchedConnection(() => {
      checked++;
    });
    relay(client, service, (bytes) => watch.takeRequests(bytes));
    relay(service, client, (bytes) => watch.takeResponses(bytes));
    for (const socket of [client, service]) sockets.add(socket);
  });
  function relay(from: Socket, to: Socket, take: (bytes: Buffer) => void): void {
    from.on('data', (bytes) => {
      try {
        take(bytes);
      } catch (error) {
        faults.push(error);
      }
    });
    from.pipe(to);
    from.on('error', () => to.destroy());
    from.on('close', () => {
      sockets.delete(from);
      to.destroySoon();
    });
  }
  await once(server.listen(0, '127.0.0.1'), 'listening');
  context.after(() => {
    server.close();
    for (const socket of sockets) socket.destroy();
    assert.deepEqual(faults, []);
    assert.ok(checked > 0, 'the proxy has seen no answer');
  });
  return (server.address() as AddressInfo).port;
}

interface SeenRequest {
  readonly method: string;
  readonly path: string;
  readonly requestBody: string;
}

const REQUEST_LINE = /^(?<method>[A-Z]+) (?<path>\S+) HTTP\/1\.1\r\n/;

/** The data that has passed on one connection. */
class WatchedConnection {
  readonly #checked: () => void;
  /** The requests without a response. */
  readonly #requests: SeenRequest[] = [];
  #sent: Buffer = Buffer.alloc(0);
  #received: Buffer = Buffer.alloc(0);
  #isWebSocket = false;
  /** The start of a message that has several frames. */
  #message = '';

  constructor(checked: () => void) {
    this.#checked = checked;
  }

  takeRequests(bytes: Buffer): void {
    if (this.#isWebSocket) return;
    this.#sent = Buffer.concat([this.#sent, bytes]);
    for (;;) {
      const headEnd = this.#sent.indexOf(HEAD_END);
      if (headEnd === -1) return;
      const head = this.#sent.toString('latin1', 0, headEnd + HEAD_END.length);
      const length = Number(/^content-length: *(\d+)/im.exec(head)?.[1] ?? 0);
      const end = headEnd + HEAD_END.length + length;
      if (this.#sent.length < end) return;
      const { method, path } = REQUEST_LINE.exec(head)?.groups ?? assert.fail(head);
      const requestBody = this.#sent.toString('utf8', headEnd + HEAD_END.length, end);
      this.#requests.push({ method, path, requestBody });
      this.#sent = this.#sent.subarray(end);
    }
  }

  takeResponses(bytes: Buffer): void {
    this.#received = Buffer.concat([this.#received, bytes]);
    while (this.#isWebSocket ? this.#takeFrame() : this.#takeResponse());
  }

  /** Reads a response; returns true if the response was complete. */
  #takeResponse(): boolean {
    const [request] = this.#requests;
    const hasBody = request?.method !== 'HEAD';
    const parsed = parseResponse(this.#received, { hasBody, isOver: false });
    if (parsed === undefined) return false;
    this.#received = this.#received.subarray(parsed.length);
    const { status, headers, body } = parsed.response;
    this.#isWebSocket = status === 101;
    if (status >= 100 && status < 200) return true;
    // A refusal may come before its request is complete.
    if (this.#requests.shift() === undefined) return true;
    checkResponse({ ...request, status, contentType: headers.get('content-type'), body });
    this.#checked();
    return true;
  }

  /** Reads a frame; returns true if the frame was complete. */
  #takeFrame(): boolean {
    const bytes = this.#received;
    if (bytes.length < 2) return false;
    const short = bytes[1];
    const start = short < 126 ? 2 : short === 126 ? 4 : 10;
    if (bytes.length < start) return false;
    const length = short < 126 ? short : bytes.readUIntBE(start === 4 ? 2 : 4, start === 4 ? 2 : 6);
    if (bytes.length < start + length) return false;
    this.#received = bytes.subarray(start + length);
    const opcode = bytes[0] & 0x0f;
    if (opcode !== TEXT && opcode !== CONTINUATION) return true;
    assert.equal(bytes[0] & 0x40, 0, 'a compressed frame cannot be checked');
    this.#message += bytes.toString('latin1', start, start + length);
    if ((bytes[0] & 0x80) === 0) return true;
    checkFrame(JSON.parse(Buffer.from(this.#message, 'latin1').toString()));
    this.#checked();
    this.#message = '';
    return true;
  }
}
