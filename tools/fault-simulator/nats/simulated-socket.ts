/**
 * A TCP connection of a simulated process to a NATS server: the part of node:net that the client
 * uses.
 */

import { EventEmitter } from 'node:events';
import type { Kernel, SimulatedProcess } from '../system/kernel.ts';

/** The other end of a connection. */
export interface FarEnd {
  send(bytes: Buffer): void;
  /** Called when the process has closed the connection. */
  closed(): void;
}

export class SimulatedSocket extends EventEmitter {
  readonly #kernel: Kernel;
  readonly owner: SimulatedProcess;
  #farEnd: FarEnd | undefined;
  destroyed = false;

  constructor(kernel: Kernel) {
    super();
    this.#kernel = kernel;
    this.owner = kernel.current;
  }

  connected(farEnd: FarEnd): void {
    this.#farEnd = farEnd;
    this.emit('connect');
  }

  receive(bytes: Buffer): void {
    if (!this.destroyed) this.emit('data', bytes);
  }

  /** Fails the connection: it was refused or reset. */
  fail(code: string): void {
    if (this.destroyed) return;
    this.destroyed = true;
    this.emit('error', Object.assign(new Error(code), { code }));
    this.emit('close');
  }

  write(bytes: Uint8Array, done: (error?: Error) => void): void {
    // The bytes are copied, because the client reuses its buffer.
    if (!this.destroyed) this.#farEnd?.send(Buffer.from(bytes));
    queueMicrotask(() => done(this.destroyed ? new Error('EPIPE') : undefined));
  }

  end(): void {
    this.destroy();
  }

  destroy(): void {
    if (this.destroyed) return;
    this.destroyed = true;
    this.#farEnd?.closed();
    this.#kernel.schedule(0, () => this.emit('close'), this.owner);
  }

  setNoDelay(): this {
    return this;
  }
}
