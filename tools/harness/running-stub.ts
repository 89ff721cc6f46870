/** A stub exchange in a separate process, as a test controls it. */

import path from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import type { Json, Question } from '../stub-exchange/dialect-answers.ts';
import type { FaultPlan } from '../stub-exchange/faults.ts';
import { STUB_DEFAULTS, type StubOptions } from '../stub-exchange/stub-options.ts';
import { Program } from './program.ts';
import type { Cleanup } from './running.ts';

const PROGRAM = path.join(import.meta.dirname, '../stub-exchange/stub-exchange.js');
/** A stub is killed after this time, which is longer than its tests take. */
const RUN_MS_MAX = 7_200_000;

export interface StubReport {
  readonly height: number;
  readonly time: number;
  readonly weight: {
    /** The largest weight in any 60 s. */
    readonly windowMax: number;
    readonly total: number;
    readonly countByType: Readonly<Record<string, number>>;
    /** The number of requests over the limit. */
    readonly refused: number;
  };
  readonly push: {
    readonly connectionsMax: number;
    readonly usersMax: number;
    readonly subscriptionsMax: number;
    readonly messagesMax: number;
    readonly sent: number;
    /** The number of refusals by their text. Closed sockets count as "unknown coin". */
    readonly refusals: Readonly<Record<string, number>>;
  };
  /** How often each fault has occurred. */
  readonly faults: Readonly<Record<string, number>>;
}

export type StubChoice = Partial<StubOptions> & Pick<StubOptions, 'file'>;

export class RunningStub {
  readonly options: StubOptions;
  #program: Program;
  #controlPort = 0;
  port = 0;

  private constructor(options: StubOptions) {
    this.options = options;
    this.#program = launch(options);
  }

  static async start(context: Cleanup, choice: StubChoice): Promise<RunningStub> {
    const clock = { startTimeMs: Date.now(), anchorMs: Date.now() };
    const stub = new RunningStub({ ...STUB_DEFAULTS, ...clock, ...choice });
    context.after(() => stub.stop('SIGTERM'));
    await stub.#untilListening();
    return stub;
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  get pid(): number {
    return this.#program.child.pid ?? 0;
  }

  async #untilListening(): Promise<void> {
    await this.#program.untilWritten('\n');
    const { port, controlPort } = JSON.parse(this.#program.stdout.split('\n')[0]);
    this.port = port;
    this.#controlPort = controlPort;
  }

  async stop(signal: NodeJS.Signals): Promise<void> {
    this.#program.child.kill(signal);
    await this.#program.ended;
  }

  /** Starts the stub again on the same ports and the same ledger, as after a kill. */
  async restart(): Promise<void> {
    const { port, options } = this;
    this.#program = launch({ ...options, port, controlPort: this.#controlPort });
    await this.#untilListening();
  }

  report(): Promise<StubReport> {
    return this.#command('report');
  }

  /** Makes blocks at once, and returns the exchange's time. */
  step(count = 1): Promise<number> {
    return this.#command('step', { count });
  }

  setFaults(plan: FaultPlan): Promise<void> {
    return this.#command('faults', plan);
  }

  /** Starts to count the weight again from 0, for another follower. */
  forgetWeight(): Promise<void> {
    return this.#command('forget');
  }

  fix(question: Question, answer: Json): Promise<void> {
    return this.#command('fix', { question, answer });
  }

  /** True if the body, apart from its formatting, was sent as an answer to the question. */
  async hasServed(question: Question, body: string): Promise<boolean> {
    const bodies: string[] = await this.#command('served', { question });
    return bodies.some((one) => isDeepStrictEqual(JSON.parse(one), JSON.parse(body)));
  }

  async #command(name: string, body: object = {}): Promise<Json> {
    const address = `http://127.0.0.1:${this.#controlPort}/${name}`;
    const response = await fetch(address, { method: 'POST', body: JSON.stringify(body) });
    const answer = await response.text();
    if (!response.ok) throw new Error(`the stub's ${name}: ${answer}`);
    return JSON.parse(answer);
  }
}

function launch(options: StubOptions): Program {
  return new Program([process.execPath, PROGRAM, JSON.stringify(options)], {}, RUN_MS_MAX);
}
