/**
 * Buffers the messages of a push connection whose key has to wait for its turn. During the wait,
 * the client is not read. Only the messages that `ws` had already received are buffered. After the
 * wait, one of them is handled in each turn of the event loop.
 *
 * The messages are copied into one buffer, because a reference to a short message would prevent the
 * memory of the whole read from being freed.
 */

import type { WebSocket } from 'ws';
import { makeRoom } from '../transport/connections/growing-buffer.ts';
import type { IncomingFrames } from '../transport/websocket/incoming-frames.ts';

/**
 * Maximum number of buffered bytes. The messages of two reads are shorter, unless the client
 * compresses its messages.
 */
const HELD_BYTES_MAX = 262_144;
/** The number of bytes before each buffered message. They contain the length of the message. */
const HEADER_LENGTH = 4;
const EMPTY = Buffer.alloc(0);

export interface HeldMessagesOptions {
  readonly socket: Pick<WebSocket, 'readyState' | 'OPEN'>;
  readonly incoming: Pick<IncomingFrames, 'hold' | 'release'>;
  handle(message: Buffer): void;
  /** Called when there are too many bytes to buffer. */
  overflowed(): void;
  /** Called with an unexpected error that occurred while a buffered message was handled. */
  failed(error: unknown): void;
}

export class HeldMessages {
  readonly #options: HeldMessagesOptions;
  /** The number of promises that the next message waits for. */
  #holds = 0;
  #isHolding = false;
  #bytes: Buffer = EMPTY;
  #start = 0;
  #end = 0;

  constructor(options: HeldMessagesOptions) {
    this.#options = options;
  }

  /** Handles the message now, or after the buffered messages. */
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

  /**
   * Handles the next buffered message. Plans the message after it for the next turn, unless that
   * message has to wait.
   */
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
