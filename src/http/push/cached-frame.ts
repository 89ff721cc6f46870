/**
 * A cached frame of a state with many subscriptions. The buffer is reused, because a buffer that
 * lives for more than a few turns is freed only by a full garbage collection. Thousands of new
 * buffers a second would cause a full garbage collection every second.
 */

/**
 * The number of spare bytes in a buffer. The next frame may have a few more digits, and then still
 * fits.
 */
const SPARE_LENGTH = 128;

const EMPTY = Buffer.alloc(0);
const NO_HEIGHT = -1;

export class CachedFrame {
  #memory: Buffer = EMPTY;
  #length = 0;
  #height = NO_HEIGHT;

  /** Stores a copy of a frame, and its height. */
  keep(frame: Buffer, height: number): void {
    if (frame.length > this.#memory.length) {
      this.#memory = Buffer.allocUnsafeSlow(frame.length + SPARE_LENGTH);
    }
    this.#length = frame.copy(this.#memory);
    this.#height = height;
  }

  /** Returns the cached frame if the frame is of this height; otherwise returns undefined. */
  at(height: number): Buffer | undefined {
    return height === this.#height ? this.#memory.subarray(0, this.#length) : undefined;
  }

  /** Drops the frame, because the state has changed at the same height. */
  forget(): void {
    this.#height = NO_HEIGHT;
  }
}
