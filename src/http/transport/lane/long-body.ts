/**
 * Sends long bodies in pieces, because copying megabytes to the operating system takes
 * milliseconds.
 */

import type { Socket } from 'node:net';
import type { Turns } from '../../answering/limits/turns.ts';

const PIECE_BYTES = 128 << 10;

/**
 * Sends one piece in each turn of the event loop, and pauses if other requests were answered in the
 * meantime. Calls `over` when the operating system has accepted all pieces, or when the connection
 * is closed before that.
 */
export function sendInPieces(
  socket: Socket,
  body: Buffer,
  turns: Turns,
  over: (isSent: boolean) => void,
): void {
  let start = 0;
  let answeredBefore = turns.answeredCount;
  const goOn = () => {
    const haveOthersAsked = turns.answeredCount > answeredBefore;
    answeredBefore = turns.answeredCount;
    if (haveOthersAsked) turns.doAfterPause(sendNext);
    else turns.doLater(sendNext);
  };
  const sendNext = () => {
    if (socket.destroyed) {
      over(false);
      return;
    }
    const piece = body.subarray(start, start + PIECE_BYTES);
    start += piece.length;
    socket.write(piece, (error) => {
      if (!error && start < body.length) goOn();
      else over(!error);
    });
  };
  sendNext();
}
