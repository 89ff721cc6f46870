/**
 * A cached frame of a state that many subscribe to. Its buffer is reused: one that outlives a few
 * turns is freed only by a full garbage collection, and thousands a second would cause one every
 * second.
 */

/** Room for a few more digits, so that the next frame fits as well. */
const SPARE_LENGTH = 128;

const EMPTY = Buffer.alloc(0);
const NO_HEIGHT = -1;

export class CachedFrame {
  #memory: Buffer = EMPTY;
  #length = 0;
  #height = NO_HEIGHT;

  /** Keeps a copy of a frame, and its height. */
  keep(frame: Buffer, height: number): void {
    if (frame.length > this.#memory.length) {
      this.#memory = Buffer.allocUnsafeSlow(frame.length + SPARE_LENGTH);
    }
    this.#length = frame.copy(this.#memory);
    this.#height = height;
  }

  /** The frame of this height, if that is the one that is kept. */
  at(height: number): Buffer | undefined {
    return height === this.#height ? this.#memory.subarray(0, this.#length) : undefined;
  }

  /** It is not what is to be sent any more. */
  forget(): void {
    this.#height = NO_HEIGHT;
  }
}
