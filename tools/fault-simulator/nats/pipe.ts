/**
 * One direction of a TCP connection. Bytes arrive in order, and sometimes late. While the network
 * between its ends is cut, the bytes of a client connection wait, because TCP sends them again; a
 * route between servers loses its messages.
 */

import type { Kernel, SimulatedProcess } from '../system/kernel.ts';
import type { NetworkFaults } from './network-faults.ts';

export interface PipeTerms<T> {
  readonly kernel: Kernel;
  readonly faults: NetworkFaults;
  /** Returns the process that receives the bytes. */
  readonly receiver: () => SimulatedProcess;
  readonly isCut: () => boolean;
  readonly losesWhatIsCut: boolean;
  receive(items: readonly T[]): void;
}

export class Pipe<T> {
  readonly #terms: PipeTerms<T>;
  /** The items in flight, in the portions in which they arrive. */
  readonly #portions: T[][] = [];
  /** The number of portions that arrived while the network was cut. */
  #waitingCount = 0;
  #lastArrivalMs = 0;
  #sentAtEvent = -1;
  #isClosed = false;

  constructor(terms: PipeTerms<T>) {
    this.#terms = terms;
  }

  send(item: T): void {
    const { kernel, isCut, losesWhatIsCut } = this.#terms;
    if (this.#isClosed || (losesWhatIsCut && isCut())) return;
    const last = this.#portions.at(-1);
    if (last !== undefined && this.#sentAtEvent === kernel.eventCount) {
      last.push(item);
      return;
    }
    this.#sentAtEvent = kernel.eventCount;
    this.#portions.push([item]);
    this.#scheduleArrival();
  }

  #scheduleArrival(): void {
    const { kernel, faults, receiver } = this.#terms;
    this.#lastArrivalMs = Math.max(this.#lastArrivalMs, kernel.nowMs + faults.delayMs());
    kernel.schedule(this.#lastArrivalMs - kernel.nowMs, () => this.#arrive(), receiver());
  }

  #arrive(): void {
    const { isCut, losesWhatIsCut, receive } = this.#terms;
    if (this.#isClosed) return;
    if (isCut() && !losesWhatIsCut) {
      this.#waitingCount += 1;
      return;
    }
    const items = this.#portions.shift();
    if (items !== undefined && !isCut()) receive(items);
  }

  /** Sends the waiting portions again, because the network works again. */
  resend(): void {
    for (; this.#waitingCount > 0; this.#waitingCount--) this.#scheduleArrival();
  }

  close(): void {
    this.#isClosed = true;
    this.#portions.length = 0;
  }
}
