/**
 * Decides when subscriptions are checked: when their answer may have changed, but not within the
 * interval after their last state was sent. A subscription has one of three states:
 *
 *   waiting  its answer has not changed since the last check
 *   resting  a state was sent less than an interval ago
 *   stale    its answer may have changed, and it is in the queue to be checked
 *
 * Subscriptions of a connection that are due at nearly the same time are checked together, so that
 * they share one write. Connections are checked together, because the code and the data are then in
 * the processor's cache. The work is done in slices, so that requests are answered between slices.
 * Connections take turns.
 *
 * The states of several connections are first all written, then all sent. A write that wakes up the
 * client's process is expensive, but further writes to a process that is awake are cheap.
 */

import type { StateView } from '../../state/state.ts';
import { type Slice, SliceLoop } from '../../timing/slices.ts';
import type { Turns } from '../answering/limits/turns.ts';
import type { FrameWriter } from '../transport/websocket/frame-writer.ts';
import { LinkedList, type ListNode } from './linked-list.ts';

/** The part of a subscription that the schedule uses. */
export interface Scheduled extends ListNode<Scheduled> {
  readonly connection: ScheduledConnection;
  /** The time at which the next state may be sent, while the subscription rests. */
  dueMs: number;
  isResting: boolean;
  /** True if `mark` (not `markAll`) was called since the last check of this subscription. */
  isMarked: boolean;
  /** The number of `markAll` calls up to the last check of this subscription. */
  allMarksSeen: number;
  /** Writes a frame if the state has changed. Returns false if the state has not changed. */
  write(frames: FrameWriter, state: StateView): boolean;
}

/** The part of a connection that the schedule uses. */
export interface ScheduledConnection extends ListNode<ScheduledConnection> {
  readonly keyId: string;
  /**
   * Minimum time between two states of a subscription. If it is 0, a state is sent after every
   * batch of blocks.
   */
  readonly intervalMs: number;
  /** The subscriptions whose answer may have changed. */
  readonly stale: LinkedList<Scheduled>;
  /** Writes new states, up to the size of one write. */
  compose(frames: FrameWriter, state: StateView): void;
  /** Sends the states that `compose` wrote. Returns true if there are more states to write. */
  send(frames: FrameWriter): boolean;
}

/** The length of a slice. Waiting requests are answered after each slice. */
const SLICE_MS = 4;
/**
 * Number of bytes after which the gathered states are sent. If a client is slow, all these bytes
 * may stay in memory.
 */
const GATHERED_BYTES_MAX = 128 << 10;
/** Minimum length of a pause. Subscriptions that become due within a pause are checked together. */
const PAUSE_MS_MIN = 10;
/** Number of marks between two reads of the clock. */
const MARKS_PER_CHECK = 64;
/**
 * A subscription that will be due within this share of its interval may be sent early, together
 * with other subscriptions of its connection.
 */
const EARLY_SHARE_MAX = 0.1;
/**
 * A subscription is also checked early if it will be due within this time and within that share of
 * its interval.
 */
const EARLY_MS_MAX = 25;

export interface ScheduleOptions {
  /** The frame writer that all connections share. */
  readonly frames: FrameWriter;
  readonly turns: Turns;
  readState(): StateView | undefined;
  /**
   * Called after each slice of work, with the seconds that the slice took and the number of states
   * sent.
   */
  worked(seconds: number, states: number): void;
}

export class PushSchedule {
  readonly #options: ScheduleOptions;
  /** The connections with stale subscriptions. They take turns. */
  readonly #queue = new LinkedList<ScheduledConnection>();
  /** The resting subscriptions, by interval, in the order in which they become due. */
  readonly #resting = new Map<number, LinkedList<Scheduled>>();
  /**
   * The subscriptions that wait for a change, in order of `allMarksSeen`. Subscriptions that have
   * not seen the newest `markAll` come first.
   */
  readonly #waiting = new LinkedList<Scheduled>();
  #allMarks = 0;
  readonly #slices: SliceLoop;
  /** The number of states sent in this slice. */
  #statesSent = 0;
  #pause: NodeJS.Timeout | undefined;
  #pauseEndMs = 0;

  constructor(options: ScheduleOptions) {
    this.#options = options;
    this.#slices = new SliceLoop({
      sliceMs: () => SLICE_MS,
      step: (slice) => this.#deliver(slice),
      hasMore: () => this.#queue.first !== undefined && options.readState() !== undefined,
      worked: (seconds) => this.#noteWork(seconds),
      later: (run) => options.turns.doLater(run),
    });
  }

  /** Marks a subscription whose answer may have changed. */
  mark(item: Scheduled): void {
    item.isMarked = true;
    if (item.isResting) return;
    item.connection.stale.append(item);
    this.enqueue(item.connection);
  }

  /**
   * Marks all subscriptions, because all answers may have changed. Resting subscriptions notice the
   * mark when they are due. For the other subscriptions, call `markWaiting` afterwards.
   */
  markAll(): void {
    this.#allMarks++;
  }

  /**
   * Marks the waiting subscriptions after `markAll`, until `endMs`. Returns true if all waiting
   * subscriptions are marked.
   */
  markWaiting(endMs: number): boolean {
    let marks = 0;
    for (let item = this.#waiting.first; item !== undefined; item = this.#waiting.first) {
      if (item.allMarksSeen === this.#allMarks) return true;
      this.mark(item);
      if (++marks % MARKS_PER_CHECK === 0 && performance.now() > endMs) return false;
    }
    return true;
  }

  /** Puts a connection with stale subscriptions into the queue. */
  enqueue(connection: ScheduledConnection): void {
    if (connection.stale.first === undefined) return;
    this.#queue.append(connection);
    this.#slices.start();
  }

  /** Called after a check without a new state. The subscription then waits for the next change. */
  wait(item: Scheduled): void {
    item.allMarksSeen = this.#allMarks;
    if (!item.isMarked) this.#waiting.append(item);
  }

  /** Called after a state was sent. The subscription then rests for the interval. */
  rest(item: Scheduled): void {
    const { intervalMs } = item.connection;
    if (intervalMs === 0) {
      this.wait(item);
      return;
    }
    item.allMarksSeen = this.#allMarks;
    item.dueMs = performance.now() + intervalMs;
    item.isResting = true;
    item.list?.remove(item);
    this.#restingFor(intervalMs).append(item);
    this.#awaitDue(item.dueMs);
  }

  #restingFor(intervalMs: number): LinkedList<Scheduled> {
    let list = this.#resting.get(intervalMs);
    if (list === undefined) {
      list = new LinkedList();
      this.#resting.set(intervalMs, list);
    }
    return list;
  }

  /**
   * Wakes the marked subscriptions of a connection that are nearly due, so that they share a write
   * with the connection's other subscriptions.
   */
  wakeNearlyDue(connection: ScheduledConnection, items: Iterable<Scheduled>): void {
    if (connection.intervalMs === 0) return;
    const soonMs = performance.now() + connection.intervalMs * EARLY_SHARE_MAX;
    for (const item of items) {
      if (!item.isResting || item.dueMs > soonMs || !this.#isStale(item)) continue;
      this.#wake(item);
      connection.stale.append(item);
    }
  }

  #isStale({ isMarked, allMarksSeen }: Scheduled): boolean {
    return isMarked || allMarksSeen !== this.#allMarks;
  }

  #wake(item: Scheduled): void {
    item.list?.remove(item);
    item.isResting = false;
  }

  delete(item: Scheduled): void {
    item.list?.remove(item);
  }

  /** Removes a connection that was closed. */
  release(connection: ScheduledConnection): void {
    this.#queue.remove(connection);
  }

  close(): void {
    this.#slices.stop();
    clearTimeout(this.#pause);
    this.#queue.clear();
    this.#waiting.clear();
    for (const list of this.#resting.values()) list.clear();
  }

  #noteWork(seconds: number): void {
    this.#options.worked(seconds, this.#statesSent);
    this.#statesSent = 0;
  }

  /** Writes the states of some connections, then sends these states. */
  #deliver(slice: Slice): boolean {
    const { frames, readState } = this.#options;
    const state = readState();
    if (state === undefined) return false;
    const turn: ScheduledConnection[] = [];
    frames.clear();
    for (
      let connection = this.#queue.first;
      connection !== undefined;
      connection = this.#queue.first
    ) {
      this.#queue.remove(connection);
      connection.compose(frames, state);
      turn.push(connection);
      if (frames.length > GATHERED_BYTES_MAX || slice.isOver) break;
    }
    for (const connection of turn) {
      if (connection.send(frames)) this.#queue.append(connection);
    }
    this.#statesSent += frames.count;
    return true;
  }

  /** Sets the timer for a due time, unless the timer is already set for an earlier time. */
  #awaitDue(dueMs: number): void {
    if (this.#pause !== undefined && this.#pauseEndMs <= dueMs) return;
    clearTimeout(this.#pause);
    const nowMs = performance.now();
    const pauseMs = Math.max(PAUSE_MS_MIN, dueMs - nowMs);
    this.#pauseEndMs = nowMs + pauseMs;
    this.#pause = setTimeout(() => {
      this.#pause = undefined;
      this.#wakeDue();
    }, pauseMs);
  }

  #wakeDue(): void {
    const nowMs = performance.now();
    let nextMs = Number.POSITIVE_INFINITY;
    for (const [intervalMs, list] of this.#resting) {
      const soonMs = nowMs + Math.min(EARLY_MS_MAX, intervalMs * EARLY_SHARE_MAX);
      let item = list.first;
      for (; item !== undefined && item.dueMs <= soonMs; item = list.first) {
        this.#wake(item);
        if (this.#isStale(item)) this.mark(item);
        else this.#waiting.append(item);
      }
      nextMs = Math.min(nextMs, item?.dueMs ?? nextMs);
    }
    if (nextMs !== Number.POSITIVE_INFINITY) this.#awaitDue(nextMs);
  }
}
