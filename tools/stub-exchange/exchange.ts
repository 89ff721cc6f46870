/**
 * The stub's exchange: the simulator on a clock of its own, and the ledger that is the truth. Every
 * block is in the ledger's file before anyone is told of it, so the state at any time can be rebuilt,
 * also after the stub was killed.
 */

import { closeSync, existsSync, openSync, readFileSync, truncateSync, writeSync } from 'node:fs';
import { parseBlock, type WireEvent } from '../../src/events/event.ts';
import { createSimulator } from '../../src/simulator/simulator.ts';
import { applyBlock } from '../../src/state/fold.ts';
import { createState, type State, type StateView } from '../../src/state/state.ts';
import { type Payment, readPayments, readTrades, type Trade } from './exchange-trades.ts';
import { TruthLines } from './truth-lines.ts';

export interface ExchangeOptions {
  /** The ledger's file, NDJSON. If it exists, the exchange continues it. */
  readonly file: string;
  readonly seed: string;
  readonly accounts: number;
  /** The exchange's time at `anchorMs` of this machine's clock. */
  readonly startTimeMs: number;
  readonly anchorMs: number;
  /** Milliseconds of the exchange in one of this machine. */
  readonly speed: number;
  /** How old the answers of a stalled server are, in milliseconds of the exchange. */
  readonly lagMs: number;
  /** How long after the hour its funding is booked, in milliseconds of the exchange. */
  readonly fundingLateMs?: number;
  /** False if the file has all blocks: a recording. */
  readonly isSimulated: boolean;
}

/** What a block brought, for push. */
export interface BlockNews {
  readonly time: number;
  readonly trades: readonly Trade[];
  readonly payments: readonly Payment[];
  /** By coin. */
  readonly changedMarks: ReadonlySet<string>;
}

/** Answers of the exchange are 130 to 270 ms old when they come. */
const BEHIND_MS = 150;

export class Exchange {
  readonly #options: ExchangeOptions;
  readonly #state: State;
  readonly #lines: TruthLines | undefined;
  readonly #lagging: LaggingState;
  readonly #ledger: number;
  readonly #nowMs: () => number;

  /** @param nowMs this machine's clock, unless a test has one of its own */
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
      // The simulator has not seen what was added to its first blocks.
      this.#lines = this.#resume(lines);
    }
    // A stalled server has seen the start of the exchange, too.
    for (const line of lines) this.#lagging.add(line);
    this.#lagging.catchUp(this.#state.time);
  }

  get state(): StateView {
    return this.#state;
  }

  /** As a server sees the exchange that has stalled. */
  get stalledState(): StateView {
    return this.#lagging.state;
  }

  /** The simulator goes on from a state of its own, which has less than the ledger. */
  #resume(lines: readonly string[]): TruthLines {
    const { seed, accounts, startTimeMs, fundingLateMs } = this.#options;
    const resume = createState();
    for (const line of lines) applyBlock(resume, parseBlock(line));
    const simulator = createSimulator({ seed, accounts, startTimeMs, resume });
    return new TruthLines(simulator, { state: this.#state, lines, resume, fundingLateMs });
  }

  /** The first blocks; of a ledger that is continued, one block. */
  #setUp(truth: TruthLines): string[] {
    const lines: string[] = [];
    while (!truth.isSetUp) {
      const line = truth.next(Math.max(this.#options.startTimeMs - BEHIND_MS, this.state.time + 1));
      writeSync(this.#ledger, `${line}\n`);
      lines.push(line);
    }
    return lines;
  }

  /** The next block, at the clock's time; each has a time of its own, which names it. */
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

  /** These events come first in the next block. */
  add(events: readonly WireEvent[]): void {
    this.#lines?.add(events);
  }

  close(): void {
    closeSync(this.#ledger);
  }
}

/** The state some time ago. */
class LaggingState {
  readonly state = createState();
  /** Blocks that it has not seen yet. */
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

/** The whole lines of the file; one that a kill has cut off is removed from it. */
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
