/**
 * Reads of many connections into one buffer. For every read Node allocates 64 KiB, cuts them to what
 * came, and pushes that through a stream: more work than answering. Its sockets can read into a
 * buffer of the program's instead (the option `onread` of net.Socket), but a server's sockets cannot
 * be given that option, so it is set here where Node itself keeps it. Where Node has it elsewhere, or
 * the connection is no socket of its own, connections are read as usual: nothing else depends on it.
 */

import type { Duplex } from 'node:stream';

const READ_BYTES = 1 << 16;

/** Called with what one read brought: so many bytes of the buffer, only there until it returns. */
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

/** Where a socket of this version of Node keeps its buffer; null where that cannot be told. */
function findSlots(socket: OpenSocket): Slots | null {
  const symbols = Object.getOwnPropertySymbols(socket);
  const find = (name: string) => symbols.find(({ description }) => description === name);
  const buffer = find('kBuffer');
  const callback = find('kBufferCb');
  return buffer === undefined || callback === undefined ? null : { buffer, callback };
}

/** Reads a connection until the function that is returned is called; from then on it reads as ever. */
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
    // The buffer cannot be taken back: what it brings goes where Node would have put it.
    socket[callback] = (length: number) => {
      return socket.push(Buffer.from(sharedBuffer.subarray(0, length)));
    };
  };
}
