/**
 * Reads of many connections into one buffer. For every read Node allocates 64 KiB, trims them, and
 * pushes them through a stream: more work than answering. A socket can read into the program's own
 * buffer instead (the option `onread` of net.Socket), but a server cannot give that option to the
 * sockets that it accepts, so it is set in the private slots where Node keeps it. If a version of Node
 * has no such slots, connections are read through their 'data' events.
 */

import type { Duplex } from 'node:stream';

const READ_BYTES = 1 << 16;

/** Called with a buffer and the length of a read, which are only valid until it returns. */
export type TakeBytes = (buffer: Buffer, length: number) => void;

interface Slots {
  readonly buffer: symbol;
  readonly callback: symbol;
}

interface OpenSocket extends Duplex {
  readonly _handle?: { useUserBuffer?(buffer: Buffer): void } | null;
  [slot: symbol]: unknown;
}

const sharedBuffer = Buffer.allocUnsafeSlow(READ_BYTES);
let slots: Slots | null | undefined;

/** The private slots of a socket in this version of Node; null if they are not found. */
function findSlots(socket: OpenSocket): Slots | null {
  const symbols = Object.getOwnPropertySymbols(socket);
  const find = (name: string) => symbols.find(({ description }) => description === name);
  const buffer = find('kBuffer');
  const callback = find('kBufferCb');
  return buffer === undefined || callback === undefined ? null : { buffer, callback };
}

/** Reads a connection until the returned function is called; then it emits 'data' again. */
export function readConnection(connection: Duplex, take: TakeBytes): () => void {
  const socket = connection as OpenSocket;
  if (typeof socket._handle?.useUserBuffer === 'function') {
    slots ??= findSlots(socket);
    if (slots !== null) return readShared(socket, slots, take);
  }
  const takeChunk = (chunk: Buffer) => take(chunk, chunk.length);
  socket.on('data', takeChunk);
  return () => socket.off('data', takeChunk);
}

function readShared(socket: OpenSocket, { buffer, callback }: Slots, take: TakeBytes): () => void {
  socket._handle?.useUserBuffer?.(sharedBuffer);
  socket[buffer] = sharedBuffer;
  socket[callback] = (length: number) => take(sharedBuffer, length);
  return () => {
    // Node keeps reading into the buffer, so its bytes are pushed into the stream.
    socket[callback] = (length: number) => {
      return socket.push(Buffer.from(sharedBuffer.subarray(0, length)));
    };
  };
}
