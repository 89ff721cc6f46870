/**
 * When subscriptions are checked: once their answer may have changed, but not within the interval
 * after they were last sent a state. Those of a connection that are due at nearly the same time are
 * checked together, so that they share a write, now and later; those of other connections, so that the
 * processor has the code and the data of a check in its cache. The work is done in slices, so that
 * requests are answered in between, and round robin, so that no connection starves.
 *
 * The states of several connections are first written, then sent: a write that wakes the clients up is
 * expensive, but further writes to clients that are awake are not.
 */

import type { StateView } from '../../state/state.ts';
import { type Slice, SliceLoop } from '../../timing/slices.ts';
import type { Turns } from '../answering/turns.ts';
import type { FrameWriter } from '../transport/websocket/frame-writer.ts';
import { LinkedList, type ListNode } from './linked-list.ts';

/** A subscription, as far as it is scheduled: it rests, is stale, or waits for a change. */
export interface Scheduled extends ListNode<Scheduled> {
  readonly connection: ScheduledConnection;
  /** When it may be sent its next state, while it rests. */
  dueMs: number;
  isResting: boolean;
  /** Marked by `mark`, not `markAll`, since its last check. */
  isMarked: boolean;
  /** The number of `markAll` calls at its last check. */
  allMarksSeen: number;
  /** Writes a frame if there is something new; false if not. */
  write(frames: FrameWriter, state: StateView): boolean;
}

/** A connection, as far as it is scheduled. */
export interface ScheduledConnection extends ListNode<ScheduledConnection> {
  readonly keyId: string;
  /** Time between two states of a subscription; 0 for after every batch of blocks. */
  readonly intervalMs: number;
  /** Those whose answer may have changed. */
  readonly stale: LinkedList<Scheduled>;
  /** Writes what is new, as much as goes into one write. */
  compose(frames: FrameWriter, state: StateView): void;
  /** Sends what it has written; true if it has more to write. */
  send(frames: FrameWriter): boolean;
}

/** How long subscriptions are worked on before requests get their turn. */
const SLICE_MS = 4;
/** Bytes that are gathered before they are sent. A client that is slow to read may keep them all. */
const GATHERED_BYTES_MAX = 128 << 10;
/** Those that become due within this time are checked together. */
const PAUSE_MS_MIN = 10;
/** Marks between two checks of the clock. */
const MARKS_PER_CHECK = 64;
/** A connection's subscriptions due within this share of the interval are sent early. */
const EARLY_SHARE_MAX = 0.1;
/** Those of other connections are checked with them if they are due within this time, or that share. */
const EARLY_MS_MAX = 25;

export interface ScheduleOptions {
  /** Used again for all connections. */
  readonly frames: FrameWriter;
  readonly turns: Turns;
  readState(): StateView | undefined;
  /** Called after each slice of work, with its time and the number of states sent. */
  worked(seconds: number, states: number): void;
}

export class PushSchedule {
  readonly #options: ScheduleOptions;
  /** Those with something to check, in turn. */
  readonly #queue = new LinkedList<ScheduledConnection>();
  /** Sent, by interval, in the order in which they become due again. */
  readonly #resting = new Map<number, LinkedList<Scheduled>>();
  /**
   * Those that wait for a change, in order of `allMarksSeen`: those that have not seen the newest
   * `markAll` come first.
   */
  readonly #waiting = new LinkedList<Scheduled>();
  #allMarks = 0;
  readonly #slices: SliceLoop;
  /** States sent in this slice. */
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

  /** Its answer may have changed. */
  mark(item: Scheduled): void {
    item.isMarked = true;
    if (item.isResting) return;
    item.connection.stale.append(item);
    this.enqueue(item.connection);
  }

  /**
   * The answers of all may have changed. Those that rest find out when they are due; `markWaiting` is to
   * be called for the others.
   */
  markAll(): void {
    this.#allMarks++;
  }

  /** Marks those that wait, after `markAll`, until the time is up; true if all are. */
  markWaiting(endMs: number): boolean {
    let marks = 0;
    for (let item = this.#waiting.first; item !== undefined; item = this.#waiting.first) {
      if (item.allMarksSeen === this.#allMarks) return true;
      this.mark(item);
      if (++marks % MARKS_PER_CHECK === 0 && performance.now() > endMs) return false;
    }
    return true;
  }

  /** Takes a connection in again, which could not be sent more before. */
  enqueue(connection: ScheduledConnection): void {
    if (connection.stale.first === undefined) return;
    this.#queue.append(connection);
    this.#slices.start();
  }

  /** It was checked: it waits for the next change. */
  wait(item: Scheduled): void {
    item.allMarksSeen = this.#allMarks;
    if (!item.isMarked) this.#waiting.append(item);
  }

  /** It was sent a state: it rests for the interval. */
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
   * Makes those that are nearly due stale now, so that they share a write with others of their
   * connection.
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

  /** Forgets a connection. */
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

  /** Writes the states of some connections, then sends them. */
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

  /** Wakes when one is due, unless that is planned already for an earlier time. */
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
