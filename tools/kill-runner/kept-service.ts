/**
 * `perpinfo serve` with workers. It is started again on the same port whenever its first process is
 * killed.
 */

import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { childrenOf } from '../harness/processes.ts';
import { start } from '../harness/program.ts';
import { type Answer, Client, RunningService, until } from '../harness/running.ts';

const RUN_MS_MAX = 7_200_000;
/**
 * The maximum time until workers end without their supervisor. They notice its end at once, but the
 * machine may be busy.
 */
const OUTLIVE_MS_MAX = 30_000;

const ANSWER_MS_MAX = 20_000;
const START_MS_MAX = 300_000;

export interface KeptServiceOptions {
  readonly name: string;
  readonly data: string;
  readonly workers: number;
  readonly flags: readonly string[];
  noteViolation(message: string): void;
}

export class KeptService {
  readonly #options: KeptServiceOptions;
  #service: RunningService | undefined;
  #isStopping = false;
  #running: Promise<void> = Promise.resolve();
  readonly port: number;

  private constructor(options: KeptServiceOptions, port: number) {
    this.#options = options;
    this.port = port;
  }

  /** Starts the service; resolves when every worker listens. */
  static async start(options: KeptServiceOptions): Promise<KeptService> {
    // A port that the system chooses would change at every restart.
    const service = new KeptService(options, await findFreePort());
    service.#running = service.#run();
    await until(`${options.name} to listen`, () => service.hasAllWorkers, START_MS_MAX);
    return service;
  }

  get name(): string {
    return this.#options.name;
  }

  get supervisorPid(): number | undefined {
    return this.#service?.program.child.pid;
  }

  /** The ids of all workers, including those that do not listen yet. */
  get workerPids(): number[] {
    const pid = this.supervisorPid;
    try {
      return pid === undefined ? [] : childrenOf(pid);
    } catch {
      return []; // The process has just ended.
    }
  }

  get #listeningPids(): number[] {
    return (this.#service?.workerPids ?? []).filter(isRunning);
  }

  get hasAllWorkers(): boolean {
    return this.#listeningPids.length >= this.#options.workers;
  }

  /** Sends one request on a new connection; returns undefined if no process answers it. */
  async ask(secret: string, question: unknown): Promise<Answer | undefined> {
    const client = new Client(this.port);
    try {
      return await Promise.race([
        client.ask(secret, question),
        sleep(ANSWER_MS_MAX, undefined, { ref: false }),
      ]);
    } catch {
      return undefined;
    } finally {
      client.close();
    }
  }

  async #run(): Promise<void> {
    const { name, data, workers, flags, noteViolation } = this.#options;
    while (!this.#isStopping) {
      const ports = ['--port', `${this.port}`, '--admin-port', '0'];
      const choice = ['--data', data, '--workers', `${workers}`, '--max-age', '0', ...ports];
      const patience = ['--overload-delay', '60000'];
      const program = start(['serve', ...choice, ...patience, ...flags], {}, RUN_MS_MAX);
      this.#service = new RunningService(program);
      const [code, signal] = await once(program.child, 'exit');
      const left = this.#service.workerPids;
      await this.#untilGone(left);
      const isExpected = signal === 'SIGKILL' || (this.#isStopping && code === 0);
      if (!isExpected) noteViolation(`${name} ended with ${code ?? signal}: ${program.stderr}`);
      this.#service = undefined;
    }
  }

  /** Waits until the workers have ended, because no worker may outlive its supervisor. */
  async #untilGone(pids: readonly number[]): Promise<void> {
    const deadlineMs = performance.now() + OUTLIVE_MS_MAX;
    await until('the workers to end', () => {
      const left = pids.filter(isRunning);
      if (left.length === 0) return true;
      if (performance.now() < deadlineMs) return false;
      this.#options.noteViolation(`${this.#options.name}: workers outlive their supervisor`);
      for (const pid of left) process.kill(pid, 'SIGKILL');
      return true;
    });
  }

  async stop(): Promise<void> {
    this.#isStopping = true;
    this.#service?.program.child.kill('SIGTERM');
    await this.#running;
  }
}

async function findFreePort(): Promise<number> {
  const listener = createServer().listen(0, '127.0.0.1');
  await once(listener, 'listening');
  const { port } = listener.address() as AddressInfo;
  listener.close();
  await once(listener, 'close');
  return port;
}

/**
 * True if the process runs. A process that has ended, but whose end no process has waited for, does
 * not run.
 */
function isRunning(pid: number): boolean {
  try {
    return !readFileSync(`/proc/${pid}/stat`, 'utf8').includes(') Z ');
  } catch {
    return false;
  }
}
