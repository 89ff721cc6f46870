/**
 * The stub's exchange: the simulator on a separate clock, and the ledger that is the truth. Every
 * block is written to the ledger's file before any client sees it. So the state at any time can be
 * rebuilt, even after the stub was killed.
 */

import { closeSync, existsSync, openSync, readFileSync, truncateSync, writeSync } from 'node:fs';
import { parseBlock, type WireEvent } from '../../src/events/event.ts';
import { createSimulator } from '../../src/simulator/simulator.ts';
import { applyBlock } from '../../src/state/fold.ts';
import { createState, type State, type StateView } from '../../src/state/state.ts';
import { type Payment, readPayments, readTrades, type Trade } from './exchange-trades.ts';
import { TruthLines } from './truth-lines.ts';

export interface ExchangeOptions {
  /** The ledger's file, as NDJSON. If the file exists, the exchange continues it. */
  readonly file: string;
  readonly seed: string;
  readonly accounts: number;
  /** The exchange's time when this machine's clock is at `anchorMs`. */
  readonly startTimeMs: number;
  readonly anchorMs: number;
  /** The exchange's milliseconds per millisecond of this machine. */
  readonly speed: number;
  /** The age of the answers of a stalled server, in milliseconds of the exchange. */
  readonly lagMs: number;
  /** The delay after the hour at which its funding is booked, in milliseconds of the exchange. */
  readonly fundingLateMs?: number;
  /** False if the file has all blocks, because it is a recording. */
  readonly isSimulated: boolean;
}

/** The content of a block that push reports. */
export interface BlockNews {
  readonly time: number;
  readonly trades: readonly Trade[];
  readonly payments: readonly Payment[];
  /** The coins whose marks changed. */
  readonly changedMarks: ReadonlySet<string>;
}

/** The age of an answer when it arrives: the answers of the exchange are 130 to 270 ms old. */
const BEHIND_MS = 150;

export class Exchange {
  readonly #options: ExchangeOptions;
  readonly #state: State;
  readonly #lines: TruthLines | undefined;
  readonly #lagging: LaggingState;
  readonly #ledger: number;
  readonly #nowMs: () => number;

  /** @param nowMs this machine's clock, or the clock of a test */
  constructor(options: ExchangeOptions, nowMs: () => number = Date.now) {
    this.#options = options;
    this.#nowMs = nowMs;
    const lines = loadLines(options.file);
    this.#ledger = openSync(options.file, 'a');
    this.#state = createState();
    this.#lagging = new LaggingState();
    for (const line of lines) applyBlock(this.#state, parseBlock(line));
    if (options.isSimulated) {
      this.#lines = this.#resume(lines);
      lines.push(...this.#setUp(this.#lines));
      // The simulator does not know the events that were added to its first blocks.
      this.#lines = this.#resume(lines);
    }
    // A stalled server also knows the start of the exchange.
    for (const line of lines) this.#lagging.add(line);
    this.#lagging.catchUp(this.#state.time);
  }

  get state(): StateView {
    return this.#state;
  }

  /** The state as a stalled server sees it. */
  get stalledState(): StateView {
    return this.#lagging.state;
  }

  /** Resumes the simulator from a separate state, which has less data than the ledger. */
  #resume(lines: readonly string[]): TruthLines {
    const { seed, accounts, startTimeMs, fundingLateMs } = this.#options;
    const resume = createState();
    for (const line of lines) applyBlock(resume, parseBlock(line));
    const simulator = createSimulator({ seed, accounts, startTimeMs, resume });
    return new TruthLines(simulator, { state: this.#state, lines, resume, fundingLateMs });
  }

  /** Makes the first blocks; if a ledger is continued, makes one block. */
  #setUp(truth: TruthLines): string[] {
    const lines: string[] = [];
    while (!truth.isSetUp) {
      const line = truth.next(Math.max(this.#options.startTimeMs - BEHIND_MS, this.state.time + 1));
      writeSync(this.#ledger, `${line}\n`);
      lines.push(line);
    }
    return lines;
  }

  /**
   * Makes the next block, at the clock's time. Each block has a different time, which identifies
   * the block.
   */
  step(): BlockNews {
    if (this.#lines === undefined) throw new Error('a recording has no further blocks');
    const { startTimeMs, anchorMs, speed, lagMs } = this.#options;
    const clockMs = Math.floor(startTimeMs + (this.#nowMs() - anchorMs) * speed) - BEHIND_MS;
    const marksBefore = listMarks(this.state);
    const line = this.#lines.next(Math.max(clockMs, this.state.time + 1));
    writeSync(this.#ledger, `${line}\n`);
    this.#lagging.add(line);
    this.#lagging.catchUp(this.state.time - lagMs);
    const { time } = this.state;
    const changedMarks = changedCoins(marksBefore, this.state);
    return { time, trades: readTrades(line), payments: readPayments(line), changedMarks };
  }

  /** Adds events, which come first in the next block. */
  add(events: readonly WireEvent[]): void {
    this.#lines?.add(events);
  }

  close(): void {
    closeSync(this.#ledger);
  }
}

/** The state at an earlier time. */
class LaggingState {
  readonly state = createState();
  /** The blocks that this state does not include yet. */
  readonly #ahead: { line: string; time: number }[] = [];

  add(line: string): void {
    this.#ahead.push({ line, time: timeOfLine(line) });
  }

  catchUp(time: number): void {
    while (this.#ahead.length > 0 && this.#ahead[0].time <= time) {
      applyBlock(this.state, parseBlock(this.#ahead.shift()?.line ?? ''));
    }
  }
}

export function timeOfLine(line: string): number {
  return Number(/^\{"height":\d+,"time":(\d+)/.exec(line)?.[1]);
}

/**
 * Returns the complete lines of the file. An incomplete line, which a kill has cut off, is removed
 * from the file.
 */
function loadLines(file: string): string[] {
  if (!existsSync(file)) return [];
  const text = readFileSync(file, 'utf8');
  const whole = text.slice(0, text.lastIndexOf('\n') + 1);
  if (whole.length < text.length) truncateSync(file, Buffer.byteLength(whole));
  return whole.split('\n').slice(0, -1);
}

function listMarks({ markets }: StateView): number[] {
  return markets.markets.map((_, index) => markets.markPrice(index));
}

function changedCoins(before: readonly number[], { markets }: StateView): Set<string> {
  const changed = [...markets.markets.entries()].filter(
    ([index]) => markets.markPrice(index) !== before[index],
  );
  return new Set(changed.map(([, { coin }]) => coin));
}
