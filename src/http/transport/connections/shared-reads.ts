/**
 * Reads many connections into one shared buffer. By default, Node allocates and trims 64 KiB for
 * every read, and pushes the bytes through a stream. This takes more time than answering.
 *
 * A socket can instead read into the program's own buffer (the option `onread` of net.Socket). A
 * server cannot give this option to the sockets that it accepts, so the option is set in the
 * private slots in which Node stores it. If a version of Node does not have these slots,
 * connections are read through their 'data' events.
 */

import type { Duplex } from 'node:stream';

const READ_BYTES = 1 << 16;

/** Called with a buffer and the length of a read. Both are valid only until the call returns. */
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

/**
 * Returns the private slots of a socket in this version of Node; returns null if the slots are not
 * found.
 */
function findSlots(socket: OpenSocket): Slots | null {
  const symbols = Object.getOwnPropertySymbols(socket);
  const find = (name: string) => symbols.find(({ description }) => description === name);
  const buffer = find('kBuffer');
  const callback = find('kBufferCb');
  return buffer === undefined || callback === undefined ? null : { buffer, callback };
}

/**
 * Reads a connection until the returned function is called. After that call, the connection emits
 * 'data' again.
 */
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
    // Node continues to read into the shared buffer, so the bytes are copied and pushed into the
    // stream.
    socket[callback] = (length: number) => {
      return socket.push(Buffer.from(sharedBuffer.subarray(0, length)));
    };
  };
}
