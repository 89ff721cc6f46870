/** WebSocket frames as a client puts them on the wire, and a connection to put them on. */

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import type { Place } from '../../tools/harness/push-client.ts';

export const OPCODES = { continuation: 0, text: 1, close: 8, ping: 9, pong: 10 } as const;

/** A masked frame, the mask being zero, so that its payload is as it stands. */
export function formatFrame(opcode: number, payload: Buffer, isFinal = true): Buffer {
  const { length } = payload;
  const lengthBytes = length < 126 ? 0 : length < 65_536 ? 2 : 8;
  const header = Buffer.alloc(2 + lengthBytes + 4);
  header[0] = opcode | (isFinal ? 0x80 : 0);
  header[1] = 0x80 | (lengthBytes === 0 ? length : lengthBytes === 2 ? 126 : 127);
  if (lengthBytes > 0)
    header.writeUIntBE(length, lengthBytes === 2 ? 2 : 4, lengthBytes === 2 ? 2 : 6);
  return Buffer.concat([header, payload]);
}

/** A connection that answers nothing: a WebSocket's handshake, and then only the bytes. */
export async function connectRaw(
  context: { after(clean: () => void): void },
  { port, key }: Place,
): Promise<Socket> {
  const socket = connect(port, '127.0.0.1');
  context.after(() => void socket.destroy());
  socket.on('error', () => undefined);
  socket.write(
    `GET /${key}/ws HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n` +
      'Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n',
  );
  const [bytes] = await once(socket, 'data');
  assert.match(String(bytes), /^HTTP\/1\.1 101 /);
  return socket;
}
