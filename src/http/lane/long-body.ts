/** Sends long bodies in pieces: the system copies what it is given, megabytes take it milliseconds. */

import type { Socket } from 'node:net';
import type { Turns } from '../turns.ts';

const PIECE_BYTES = 128 << 10;

/** Each piece has a turn of the event loop; `sent` is called when the system has taken all of them. */
export function sendInPieces(socket: Socket, body: Buffer, turns: Turns, sent: () => void): void {
  let start = 0;
  const sendNext = () => {
    if (socket.destroyed) return;
    const piece = body.subarray(start, start + PIECE_BYTES);
    start += piece.length;
    socket.write(piece, (error) => {
      if (error) return;
      if (start < body.length) turns.doLater(sendNext);
      else sent();
    });
  };
  sendNext();
}
