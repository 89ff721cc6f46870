/**
 * The messages of a push connection whose key has to wait for its turn. Meanwhile the client is not read. The few
 * messages that `ws` was given before are held here, and then handled one in a turn of the event loop. They are
 * copied into one buffer, because a short message would keep the whole read in memory.
 */

import type { WebSocket } from 'ws';
import { makeRoom } from '../transport/connections/growing-buffer.ts';
import type { IncomingFrames } from '../transport/websocket/incoming-frames.ts';

/** Maximum number of held bytes. Messages of two reads are shorter, unless the client compresses them. */
const HELD_BYTES_MAX = 262_144;
/** Before each message is its length. */
const HEADER_LENGTH = 4;
const EMPTY = Buffer.alloc(0);

export interface HeldMessagesOptions {
  readonly socket: Pick<WebSocket, 'readyState' | 'OPEN'>;
  readonly incoming: Pick<IncomingFrames, 'hold' | 'release'>;
  handle(message: Buffer): void;
  /** Called when too many bytes are held. */
  overflowed(): void;
  /** Called with an unexpected error of a message that was held. */
  failed(error: unknown): void;
}

export class HeldMessages {
  readonly #options: HeldMessagesOptions;
  /** Number of promises that the next message waits for. */
  #holds = 0;
  #isHolding = false;
  #bytes: Buffer = EMPTY;
  #start = 0;
  #end = 0;

  constructor(options: HeldMessagesOptions) {
    this.#options = options;
  }

  /** Handles the message now, or after the messages that are held. */
  receive(message: Buffer): void {
    if (this.#isHolding) this.#hold(message);
    else this.#options.handle(message);
  }

  /** Handles no further message until the promise resolves. */
  holdUntil(turn: Promise<void>): void {
    this.#holds++;
    this.#isHolding = true;
    this.#options.incoming.hold();
    void turn.then(() => {
      this.#holds--;
      this.#handleNext();
    });
  }

  #hold(message: Buffer): void {
    if (this.#start > HELD_BYTES_MAX) this.#dropHandled();
    const length = this.#end + HEADER_LENGTH + message.length;
    if (length - this.#start > HELD_BYTES_MAX) {
      this.#options.overflowed();
      return;
    }
    this.#bytes = makeRoom(this.#bytes, this.#end, length);
    this.#bytes.writeUInt32LE(message.length, this.#end);
    message.copy(this.#bytes, this.#end + HEADER_LENGTH);
    this.#end = length;
  }

  #dropHandled(): void {
    this.#bytes.copy(this.#bytes, 0, this.#start, this.#end);
    this.#end -= this.#start;
    this.#start = 0;
  }

  /** Handles the next message, and the one after it in the next turn, unless it has to wait. */
  readonly #handleNext = (): void => {
    if (this.#holds > 0) return;
    if (!this.#isOpen || this.#start === this.#end) {
      this.#release();
      return;
    }
    try {
      this.#options.handle(this.#take());
    } catch (error) {
      this.#options.failed(error);
    }
    if (this.#holds === 0) setImmediate(this.#handleNext);
  };

  get #isOpen(): boolean {
    const { socket } = this.#options;
    return socket.readyState === socket.OPEN;
  }

  #take(): Buffer {
    const start = this.#start + HEADER_LENGTH;
    this.#start = start + this.#bytes.readUInt32LE(this.#start);
    return this.#bytes.subarray(start, this.#start);
  }

  #release(): void {
    this.#isHolding = false;
    this.#bytes = EMPTY;
    this.#start = 0;
    this.#end = 0;
    this.#options.incoming.release();
  }
}
