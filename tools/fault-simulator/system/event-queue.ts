/**
 * Events in order of time. Events with the same time are in the order in which they were added. It
 * is a binary heap.
 */

import type { SimulatedProcess } from './kernel.ts';

export interface QueuedEvent {
  readonly atMs: number;
  readonly process: SimulatedProcess;
  /** Undefined if the event was cancelled. */
  callback: (() => void) | undefined;
}

interface Entry {
  readonly order: number;
  readonly event: QueuedEvent;
}

function isBefore(a: Entry, b: Entry): boolean {
  return a.event.atMs < b.event.atMs || (a.event.atMs === b.event.atMs && a.order < b.order);
}

export class EventQueue {
  readonly #heap: Entry[] = [];
  #added = 0;

  add(event: QueuedEvent): void {
    const heap = this.#heap;
    const entry = { order: this.#added++, event };
    let place = heap.length;
    heap.push(entry);
    while (place > 0) {
      const parent = (place - 1) >> 1;
      if (!isBefore(entry, heap[parent])) break;
      heap[place] = heap[parent];
      place = parent;
    }
    heap[place] = entry;
  }

  /** Removes and returns the next event; returns undefined if it is due later than `untilMs`. */
  takeUntil(untilMs: number): QueuedEvent | undefined {
    const [first] = this.#heap;
    if (first === undefined || first.event.atMs > untilMs) return undefined;
    const last = this.#heap.pop();
    if (last !== undefined && this.#heap.length > 0) this.#sink(last);
    return first.event;
  }

  #sink(entry: Entry): void {
    const heap = this.#heap;
    let place = 0;
    for (;;) {
      let child = 2 * place + 1;
      if (child >= heap.length) break;
      if (child + 1 < heap.length && isBefore(heap[child + 1], heap[child])) child += 1;
      if (!isBefore(heap[child], entry)) break;
      heap[place] = heap[child];
      place = child;
    }
    heap[place] = entry;
  }
}
