/** Sends long bodies in pieces: the system copies what it is given, megabytes take it milliseconds. */

import type { Socket } from 'node:net';
import type { Turns } from '../turns.ts';

const PIECE_BYTES = 64 << 10;

/**
 * Each piece has a turn of the event loop. `over` is called when the system has taken all of them, or
 * when the connection is closed before that.
 */
export function sendInPieces(
  socket: Socket,
  body: Buffer,
  turns: Turns,
  over: (isSent: boolean) => void,
): void {
  let start = 0;
  const sendNext = () => {
    if (socket.destroyed) {
      over(false);
      return;
    }
    const piece = body.subarray(start, start + PIECE_BYTES);
    start += piece.length;
    socket.write(piece, (error) => {
      if (!error && start < body.length) turns.doLater(sendNext);
      else over(!error);
    });
  };
  sendNext();
}
