/** Messages on a socket: one line of JSON each, with a maximum length. */

import type { Socket } from 'node:net';

/** The socket's name in the folder of the ledger. */
export const SOCKET_NAME = 'wanted.sock';

const NEWLINE = 10;

export interface LineReaderOptions {
  readonly bytesMax: number;
  take(line: string): void;
}

/** Calls back with each line that a socket brings; destroys the socket at one that is too long. */
export function readSocketLines(socket: Socket, { bytesMax, take }: LineReaderOptions): void {
  let rest: Buffer[] = [];
  let restBytes = 0;
  socket.on('data', (chunk: Buffer) => {
    let start = 0;
    for (let end = chunk.indexOf(NEWLINE); end !== -1; end = chunk.indexOf(NEWLINE, start)) {
      const line = Buffer.concat([...rest, chunk.subarray(start, end)]);
      rest = [];
      restBytes = 0;
      start = end + 1;
      if (line.length > bytesMax) {
        socket.destroy();
        return;
      }
      take(line.toString());
    }
    if (start < chunk.length) rest.push(chunk.subarray(start));
    restBytes += chunk.length - start;
    if (restBytes > bytesMax) socket.destroy();
  });
}

export function writeSocketLine(socket: Socket, message: unknown): void {
  if (!socket.destroyed) socket.write(`${JSON.stringify(message)}\n`);
}
