/**
 * A client of bytes: it sends the bytes that it gets, and reads complete responses in any framing.
 */

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect as connectSocket, type Socket } from 'node:net';
import { checkResponse } from './answer-checks.ts';

export interface RawResponse {
  readonly status: number;
  readonly reason: string;
  /** The headers, with names in lower case. */
  readonly headers: ReadonlyMap<string, string>;
  readonly body: string;
}

const WAIT_MS_MAX = 20_000;
export const HEAD_END = '\r\n\r\n';

export class RawClient {
  readonly socket: Socket;
  /** Resolves when the connection has ended, for whatever reason. */
  readonly closed: Promise<void>;
  #received = Buffer.alloc(0);
  #isOver = false;
  #look: () => void = () => undefined;

  constructor(socket: Socket) {
    this.socket = socket;
    socket.on('data', (bytes: Buffer) => {
      this.#received = Buffer.concat([this.#received, bytes]);
      this.#look();
    });
    // A reset is one of the ways in which a server ends a connection.
    socket.on('error', () => undefined);
    this.closed = new Promise((resolve) => {
      socket.once('close', () => {
        this.#isOver = true;
        this.#look();
        resolve();
      });
    });
  }

  send(bytes: string | Buffer): void {
    if (this.socket.writable) this.socket.write(bytes);
  }

  /** The bytes that were received and not read as a response. */
  get left(): string {
    return this.#received.toString('latin1');
  }

  /** Returns the next response; returns undefined if the connection ends without a response. */
  async next({ hasBody = true } = {}): Promise<RawResponse | undefined> {
    const timer = setTimeout(() => this.socket.destroy(), WAIT_MS_MAX);
    try {
      for (;;) {
        const parsed = parseResponse(this.#received, { hasBody, isOver: this.#isOver });
        if (parsed !== undefined) {
          this.#received = this.#received.subarray(parsed.length);
          return parsed.response;
        }
        if (this.#isOver) return undefined;
        await this.#more();
      }
    } finally {
      clearTimeout(timer);
    }
  }

  /** Returns the next response; fails if the connection ends without a response. */
  async response(options?: { hasBody: boolean }): Promise<RawResponse> {
    const response = await this.next(options);
    assert.ok(response, `the connection ended without a response; ${this.left.length} bytes left`);
    return response;
  }

  close(): void {
    this.socket.destroy();
  }

  #more(): Promise<void> {
    return new Promise((resolve) => {
      this.#look = resolve;
    });
  }
}

export async function connect(port: number): Promise<RawClient> {
  const socket = connectSocket({ port, host: '127.0.0.1', noDelay: true });
  const client = new RawClient(socket);
  await once(socket, 'connect');
  return client;
}

/** Sends the bytes on a new connection, and returns the first response. */
export async function exchange(port: number, bytes: string | Buffer): Promise<RawResponse> {
  const client = await connect(port);
  try {
    client.send(bytes);
    const response = await client.response({
      hasBody: !/^HEAD /.test(bytes.toString('latin1', 0, 5)),
    });
    checkExchange(bytes.toString(), response);
    return response;
  } finally {
    client.close();
  }
}

const REQUEST = /^(?<method>[A-Z]+) (?<path>\S+) HTTP.*?\r\n\r\n(?<requestBody>.*)$/s;

/**
 * Checks an answer to an ordinary request. Tests of the protocol also send requests in other forms,
 * which are not checked.
 */
function checkExchange(request: string, { status, headers, body }: RawResponse): void {
  const { method, path, requestBody } = REQUEST.exec(request)?.groups ?? {};
  if (method === undefined || /^transfer-encoding:/im.test(request)) return;
  const contentType = headers.get('content-type');
  checkResponse({ method, path, requestBody, status, contentType, body });
}

interface Parsed {
  readonly response: RawResponse;
  readonly length: number;
}

interface Framing {
  readonly hasBody: boolean;
  readonly isOver: boolean;
}

/**
 * Returns the response at the start of the bytes; returns undefined if the response is not complete
 * yet.
 */
export function parseResponse(bytes: Buffer, framing: Framing): Parsed | undefined {
  const headEnd = bytes.indexOf(HEAD_END);
  if (headEnd === -1) return undefined;
  const [statusLine, ...lines] = bytes.toString('latin1', 0, headEnd).split('\r\n');
  const match = /^HTTP\/1\.1 (\d{3}) ([^\r\n]*)$/.exec(statusLine);
  assert.ok(match, `not a status line: ${statusLine.slice(0, 100)}`);
  const status = Number(match[1]);
  const headers = parseHeaders(lines);
  const hasBody = framing.hasBody && status >= 200 && status !== 204 && status !== 304;
  const start = headEnd + HEAD_END.length;
  const body = hasBody
    ? parseBody(bytes.subarray(start), headers, framing)
    : { text: '', length: 0 };
  if (body === undefined) return undefined;
  const response = { status, reason: match[2], headers, body: body.text };
  return { response, length: start + body.length };
}

function parseHeaders(lines: readonly string[]): Map<string, string> {
  const headers = new Map<string, string>();
  for (const line of lines) {
    const match = /^([!#$%&'*+.^_`|~0-9A-Za-z-]+): ?(.*)$/.exec(line);
    assert.ok(match, `not a header: ${line}`);
    const name = match[1].toLowerCase();
    assert.ok(!headers.has(name), `the header ${name} comes twice`);
    headers.set(name, match[2]);
  }
  return headers;
}

interface Body {
  readonly text: string;
  readonly length: number;
}

function parseBody(
  bytes: Buffer,
  headers: ReadonlyMap<string, string>,
  { isOver }: Framing,
): Body | undefined {
  const declared = headers.get('content-length');
  if (declared !== undefined) {
    const length = Number(declared);
    return bytes.length < length ? undefined : { text: bytes.toString('utf8', 0, length), length };
  }
  if (headers.get('transfer-encoding') === 'chunked') return parseChunks(bytes);
  // Without both headers, the body ends with the connection.
  return isOver ? { text: bytes.toString('utf8'), length: bytes.length } : undefined;
}

function parseChunks(bytes: Buffer): Body | undefined {
  const chunks: Buffer[] = [];
  let position = 0;
  for (;;) {
    const lineEnd = bytes.indexOf('\r\n', position);
    if (lineEnd === -1) return undefined;
    const length = Number.parseInt(bytes.toString('latin1', position, lineEnd), 16);
    const start = lineEnd + 2;
    if (bytes.length < start + length + 2) return undefined;
    position = start + length + 2;
    if (length === 0) return { text: Buffer.concat(chunks).toString('utf8'), length: position };
    chunks.push(bytes.subarray(start, start + length));
  }
}
