/**
 * The server's end of a connection that exists in memory only: what is delivered to it arrives as
 * exactly one read, and what is written to it can be looked at. It has what Node's HTTP server asks
 * of a socket, and no handle.
 */

import { Duplex } from 'node:stream';

type Done = (error?: Error | null) => void;

/** How a connection stands, as the client sees it: one that was ended in order stays that. */
export type Standing = 'open' | 'ended' | 'destroyed';

export class MemorySocket extends Duplex {
  bytesRead = 0;
  bytesWritten = 0;
  readonly remoteAddress = '127.0.0.1';
  readonly #written: Buffer[] = [];
  readonly #isSlow: boolean;
  #isEnded = false;

  /** To a slow one, each write takes a turn of the event loop. */
  constructor({ isSlow = false } = {}) {
    super({ allowHalfOpen: true });
    this.#isSlow = isSlow;
  }

  /** All that was written, as the characters that the bytes are. */
  get text(): string {
    return Buffer.concat(this.#written).toString('latin1');
  }

  get standing(): Standing {
    if (this.#isEnded) return 'ended';
    return this.destroyed ? 'destroyed' : 'open';
  }

  /** One read. The bytes are a copy: whoever reads may do with them what it likes. */
  deliver(bytes: Buffer): void {
    if (this.destroyed) return;
    this.bytesRead += bytes.length;
    this.push(Buffer.from(bytes));
  }

  /** The client ends its side. */
  hangUp(): void {
    if (!this.destroyed) this.push(null);
  }

  /** The client is gone without a word. */
  reset(): void {
    const error = Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET' });
    this.destroy(error);
  }

  override _read(): void {}

  override _write(bytes: Buffer | string, encoding: BufferEncoding, done: Done): void {
    this.#take(bytes, encoding);
    this.#finish(done);
  }

  override _writev(parts: { chunk: Buffer | string; encoding: BufferEncoding }[], done: Done) {
    for (const { chunk, encoding } of parts) this.#take(chunk, encoding);
    this.#finish(done);
  }

  override _final(done: Done): void {
    this.#isEnded = true;
    done();
  }

  /** As a socket does it: what was written goes out first. */
  destroySoon(): void {
    if (this.writable) this.end();
    if (this.writableFinished) this.destroy();
    else this.once('finish', () => this.destroy());
  }

  setTimeout(): this {
    return this;
  }

  setNoDelay(): this {
    return this;
  }

  setKeepAlive(): this {
    return this;
  }

  ref(): this {
    return this;
  }

  unref(): this {
    return this;
  }

  #take(bytes: Buffer | string, encoding: BufferEncoding): void {
    // A copy, as the kernel takes one: the writer may use its buffer again.
    const taken = typeof bytes === 'string' ? Buffer.from(bytes, encoding) : Buffer.from(bytes);
    this.bytesWritten += taken.length;
    this.#written.push(taken);
  }

  #finish(done: Done): void {
    if (this.#isSlow) setImmediate(done);
    else done();
  }
}
