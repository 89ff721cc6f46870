/** A client of push: it sends frames, and waits for frames of a channel. */

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { WebSocket } from 'ws';
import { REQUEST_ERRORS } from '../../src/info/request-error.ts';
import { checkFrame } from './answer-checks.ts';
import type { Cleanup } from './running.ts';

export interface PushedFrame {
  readonly channel: string;
  readonly data: unknown;
  readonly error?: PushedError;
}

/** An error as the service describes it, in addition to its text. */
export interface PushedError {
  readonly code: string;
  readonly message: string;
  readonly field?: string;
  readonly retryAfterSeconds?: number;
  readonly method?: string;
  readonly subscription?: unknown;
  readonly id?: number;
}

/** The members of a state's frame, in addition to the state itself. */
export interface PushedState {
  readonly height: number;
  readonly time: number;
  readonly user: string;
  readonly dex: string;
  readonly clearinghouseState: { readonly time: number };
  readonly [name: string]: unknown;
}

const WAIT_MS_MAX = 20_000;

export class PushClient {
  readonly socket: WebSocket;
  /** The frames that were received and not read yet. */
  readonly frames: PushedFrame[] = [];
  /** How the connection was closed. */
  readonly closed: Promise<{ code: number; reason: string }>;
  #look: () => void = () => undefined;

  constructor(socket: WebSocket) {
    this.socket = socket;
    socket.on('message', (data) => {
      const frame = JSON.parse(data.toString()) as PushedFrame;
      checkFrame(frame);
      this.frames.push(frame);
      this.#look();
    });
    socket.on('error', () => undefined);
    this.closed = new Promise((resolve) => {
      socket.once('close', (code, reason) => resolve({ code, reason: reason.toString() }));
    });
  }

  send(frame: unknown): void {
    this.socket.send(typeof frame === 'string' ? frame : JSON.stringify(frame));
  }

  subscribe(subscription: unknown): void {
    this.send({ method: 'subscribe', subscription });
  }

  /** Returns the data of the next frame; fails if the frame is of another channel. */
  async next(channel: string): Promise<unknown> {
    const frame = await this.nextFrame();
    assert.equal(frame.channel, channel, JSON.stringify(frame).slice(0, 300));
    return frame.data;
  }

  /** Returns the description of the next frame; fails if the frame is not an error. */
  async nextError(): Promise<PushedError> {
    const { error } = await this.nextFrame();
    assert.ok(error !== undefined);
    return error;
  }

  async nextState(channel = 'clearinghouseState'): Promise<PushedState> {
    return (await this.next(channel)) as PushedState;
  }

  /** Fails if an unread frame was received: the next frame must be the answer to a ping. */
  async isQuiet(): Promise<void> {
    this.send({ method: 'ping' });
    await this.next('pong');
  }

  async nextFrame(): Promise<PushedFrame> {
    const timer = setTimeout(() => this.socket.terminate(), WAIT_MS_MAX);
    while (this.frames.length === 0) {
      assert.notEqual(this.socket.readyState, WebSocket.CLOSED, 'the connection is closed');
      await Promise.race([
        this.closed,
        new Promise<void>((resolve) => {
          this.#look = resolve;
        }),
      ]);
    }
    clearTimeout(timer);
    const frame = this.frames.shift() as PushedFrame;
    checkError(frame);
    return frame;
  }

  /**
   * Returns how the service closed the connection. If the service does not close it, the client
   * does so after a while, with code 1006.
   */
  async untilClosed(): Promise<{ code: number; reason: string }> {
    const timer = setTimeout(() => this.socket.terminate(), WAIT_MS_MAX);
    const closed = await this.closed;
    clearTimeout(timer);
    return closed;
  }

  close(): void {
    this.socket.terminate();
  }
}

/** Fails unless an error has a text for older clients, and members that say the same. */
function checkError({ channel, data, error }: PushedFrame): void {
  const { id, response } = (channel === 'post' ? data : {}) as Partial<PostData>;
  const isError = channel === 'error' || response?.type === 'error';
  assert.equal(error !== undefined, isError, channel);
  if (error === undefined) return;
  const isPost = channel === 'post';
  const text = String(isPost ? response?.payload : data);
  const message = isPost ? error.message : error.message.replace(/[{}]/g, escapeBrace);
  assert.ok(Object.hasOwn(REQUEST_ERRORS, error.code), error.code);
  assert.ok(text.includes(message) || text.startsWith('Already '), text);
  if (isPost) assert.deepEqual([error.method, error.id], ['post', id]);
}

interface PostData {
  readonly id: number;
  readonly response: { readonly type: string; readonly payload: unknown };
}

function escapeBrace(brace: string): string {
  return brace === '{' ? '\\u007b' : '\\u007d';
}

export interface Place {
  readonly port: number;
  readonly key: string;
}

export function openSocket({ port, key }: Place): WebSocket {
  return new WebSocket(`ws://127.0.0.1:${port}/${key}/ws`);
}

export async function connectPush(context: Cleanup, place: Place): Promise<PushClient> {
  const client = new PushClient(openSocket(place));
  context.after(() => client.close());
  await once(client.socket, 'open');
  return client;
}

/** Returns the status and the body of the response that refuses a connection. */
export async function connectRefused(
  address: string,
): Promise<{ status: number; retryAfter: string | undefined; error: string; message: string }> {
  const socket = new WebSocket(address);
  socket.on('error', () => undefined);
  const [, response] = await once(socket, 'unexpected-response');
  const chunks: Buffer[] = [];
  for await (const chunk of response) chunks.push(chunk as Buffer);
  const { error, message } = JSON.parse(Buffer.concat(chunks).toString());
  const retryAfter = response.headers['retry-after'];
  return { status: response.statusCode, retryAfter, error, message };
}
