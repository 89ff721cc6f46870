/**
 * Simulated machines: their time, and the processes that run on them. Time jumps from one event to
 * the next event, and all effects of an event are complete before the next event. So a seed always
 * gives exactly the same run, however busy the real machine is.
 */

import { createHash } from 'node:crypto';
import { Random } from '../../../src/simulator/random.ts';
import { EventQueue, type QueuedEvent } from './event-queue.ts';

/** Read before the globals are replaced (virtual-system.ts). */
const { setImmediate: realImmediate } = globalThis;

/** Date.now() at the start of every run. */
export const START_TIME_MS = 1_700_000_000_000;

/** Thrown when a killed process calls the system. */
export class ProcessEnded extends Error {}

export class SimulatedProcess {
  readonly name: string;
  readonly pid: number;
  readonly startedMs: number;
  /** The name of the machine on which the process runs. */
  readonly host: string;
  isEnded = false;
  isPaused = false;
  /** The time of its last return from a pause. */
  resumedMs = 0;
  /** Events that became due during the pause. */
  readonly held: QueuedEvent[] = [];
  /**
   * The number of calls that may change the disk. The process can be killed at each of these calls.
   */
  writeCount = 0;
  killAtWrite = Number.POSITIVE_INFINITY;

  constructor(name: string, host: string, pid: number, startedMs: number) {
    this.name = name;
    this.host = host;
    this.pid = pid;
    this.startedMs = startedMs;
  }
}

const FIRST_PID = 1_000_000;

export class Kernel {
  readonly random: Random;
  /** The process for everything outside of the other processes, such as faults and restarts. */
  readonly world: SimulatedProcess;
  /** The difference between the machine's clock and the true time. */
  clockErrorMs = 0;
  readonly #queue = new EventQueue();
  readonly #processes = new Map<number, SimulatedProcess>();
  readonly #trace = createHash('sha256');
  /** The process whose event is being handled. */
  #current: SimulatedProcess;
  #nowMs = 0;
  #eventCount = 0;
  #nextPid = FIRST_PID;

  constructor(seed: string) {
    this.random = new Random(seed);
    this.world = this.#addProcess('world');
    this.#current = this.world;
  }

  /** The true time since the start, in milliseconds. */
  get nowMs(): number {
    return this.#nowMs;
  }

  /** The true time of day. */
  get timeMs(): number {
    return START_TIME_MS + Math.floor(this.#nowMs);
  }

  /** The time that Date.now() returns. */
  get clockMs(): number {
    return this.timeMs + Math.round(this.clockErrorMs);
  }

  get current(): SimulatedProcess {
    return this.#current;
  }

  get eventCount(): number {
    return this.#eventCount;
  }

  #addProcess(name: string, host = 'simulated'): SimulatedProcess {
    const process = new SimulatedProcess(name, host, this.#nextPid++, this.#nowMs);
    this.#processes.set(process.pid, process);
    return process;
  }

  findProcess(pid: number): SimulatedProcess | undefined {
    const process = this.#processes.get(pid);
    return process?.isEnded === false ? process : undefined;
  }

  /**
   * Starts a process, in which `main` is called. The process runs until it is killed or ends by
   * itself.
   */
  start(name: string, main: (process: SimulatedProcess) => void, host?: string): SimulatedProcess {
    const process = this.#addProcess(name, host);
    this.trace(`start ${name}`);
    this.schedule(0, () => main(process), process);
    return process;
  }

  /** Kills a process. Its unfinished work never continues. */
  kill(process: SimulatedProcess): void {
    if (process.isEnded) return;
    process.isEnded = true;
    process.held.length = 0;
    this.trace(`end ${process.name}`);
  }

  pause(process: SimulatedProcess): void {
    process.isPaused = true;
  }

  resume(process: SimulatedProcess): void {
    process.isPaused = false;
    process.resumedMs = this.#nowMs;
    for (const event of process.held.splice(0)) this.#queue.add({ ...event, atMs: this.#nowMs });
  }

  /** Calls `callback` in a process after a delay; returns a function that cancels the call. */
  schedule(delayMs: number, callback: () => void, process = this.#current): () => void {
    const event: QueuedEvent = { atMs: this.#nowMs + Math.max(0, delayMs), process, callback };
    this.#queue.add(event);
    return () => {
      event.callback = undefined;
    };
  }

  /**
   * Enters a call that may change the disk. The current process may be killed just before the call.
   */
  enterWrite(): void {
    const process = this.#current;
    process.writeCount += 1;
    if (process.writeCount >= process.killAtWrite) this.kill(process);
    this.requireRunning();
  }

  requireRunning(): void {
    if (this.#current.isEnded) throw new ProcessEnded(`${this.#current.name} was killed`);
  }

  /** Adds to the trace. Two runs of a seed have the same trace. */
  trace(what: string): void {
    this.#trace.update(`${this.#nowMs} ${what}\n`);
  }

  get traceHash(): string {
    return this.#trace.copy().digest('hex').slice(0, 16);
  }

  /** Handles events up to a time, or until `isOver` returns true. */
  async run(untilMs: number, isOver: () => boolean = () => false): Promise<void> {
    const outer = this.#current;
    for (;;) {
      const event = this.#queue.takeUntil(untilMs);
      if (event === undefined || isOver()) break;
      this.#nowMs = Math.max(this.#nowMs, event.atMs);
      await this.#handle(event);
    }
    this.#current = outer;
    this.#nowMs = Math.max(this.#nowMs, untilMs);
  }

  async #handle(event: QueuedEvent): Promise<void> {
    const { process, callback } = event;
    if (callback === undefined || process.isEnded) return;
    if (process.isPaused) {
      process.held.push(event);
      return;
    }
    this.#current = process;
    this.#eventCount += 1;
    try {
      callback();
    } catch (error) {
      if (!process.isEnded) throw error;
    }
    // Everything that waits for a promise runs before the next event.
    await new Promise<void>((resolve) => realImmediate(resolve));
  }
}
