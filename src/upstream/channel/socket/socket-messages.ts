/**
 * Messages on a socket. Each message is one line of JSON. The bytes of an exchange's answer follow
 * their line unchanged, so that no process has to parse them. In the line, `bytes` is the number
 * of these bytes.
 */

import type { Socket } from 'node:net';
import { isJsonObject, type JsonObject } from '../../../events/fields.ts';
import { parseChannelMessage } from '../channel-messages.ts';

/** The socket's name in the folder of the ledger. */
export const SOCKET_NAME = 'wanted.sock';

/** The maximum number of bytes after a line. No answer of an exchange has this many bytes. */
const FOLLOWING_BYTES_MAX = 1 << 26;
const NEWLINE = 10;

export interface MessageReaderOptions {
  /** The maximum length of a line, in bytes. */
  readonly lineBytesMax: number;
  /** Called for each message. Lines that are not JSON objects are ignored. */
  take(message: JsonObject, bytes: Buffer | undefined): void;
}

/** Calls `take` for each message of a socket; destroys the socket if a message is too long. */
export function readSocketMessages(socket: Socket, options: MessageReaderOptions): void {
  const reader = new MessageReader(options);
  socket.on('data', (chunk: Buffer) => {
    if (!reader.read(chunk)) socket.destroy();
  });
}

interface Following {
  readonly message: JsonObject;
  readonly bytes: Buffer;
  length: number;
}

class MessageReader {
  readonly #options: MessageReaderOptions;
  /** The parts of the current line that have arrived. */
  #line: Buffer[] = [];
  #lineBytes = 0;
  /** The bytes after a line, as far as they have arrived; undefined while a line is read. */
  #following: Following | undefined;

  constructor(options: MessageReaderOptions) {
    this.#options = options;
  }

  /** Returns false if the line, or the number of bytes after the line, is too long. */
  read(chunk: Buffer): boolean {
    let rest = chunk;
    while (rest.length > 0) {
      const following = this.#following;
      const length = following ? this.#readBytes(rest, following) : this.#readLine(rest);
      if (length === undefined) return false;
      rest = rest.subarray(length);
    }
    return true;
  }

  /** Returns the number of bytes that were read; returns undefined if the message is too long. */
  #readLine(chunk: Buffer): number | undefined {
    const end = chunk.indexOf(NEWLINE);
    const part = end === -1 ? chunk : chunk.subarray(0, end);
    this.#lineBytes += part.length;
    if (this.#lineBytes > this.#options.lineBytesMax) return undefined;
    this.#line.push(part);
    if (end === -1) return part.length;
    const message = parseChannelMessage(Buffer.concat(this.#line).toString());
    this.#line = [];
    this.#lineBytes = 0;
    return this.#start(message) ? part.length + 1 : undefined;
  }

  #start(message: unknown): boolean {
    if (!isJsonObject(message)) return true;
    const { bytes: count } = message;
    if (typeof count !== 'number') {
      this.#options.take(message, undefined);
      return true;
    }
    // Every answer has at least one byte.
    if (!Number.isSafeInteger(count) || count < 1 || count > FOLLOWING_BYTES_MAX) return false;
    // The buffer is contiguous, because the bytes are passed on unchanged.
    this.#following = { message, bytes: Buffer.allocUnsafeSlow(count), length: 0 };
    return true;
  }

  #readBytes(chunk: Buffer, following: Following): number {
    const { message, bytes } = following;
    const length = chunk.copy(bytes, following.length);
    following.length += length;
    if (following.length === bytes.length) {
      this.#following = undefined;
      this.#options.take(message, bytes);
    }
    return length;
  }
}

export function writeSocketMessage(socket: Socket, message: object, bytes?: Buffer): void {
  if (socket.destroyed) return;
  if (bytes === undefined) {
    socket.write(`${JSON.stringify(message)}\n`);
    return;
  }
  socket.write(`${JSON.stringify({ ...message, bytes: bytes.length })}\n`);
  socket.write(bytes);
}
