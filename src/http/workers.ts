/**
 * Several workers on one port, and the process that looks after them: it replaces one that dies,
 * passes on what each charges to budgets, and stops them together.
 */

import cluster, { type Worker } from 'node:cluster';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { Budgets, Charge } from './limits.ts';

/** How often a worker tells the others what it has charged. */
const SHARE_MS = 25;
const RESTART_MS_MIN = 100;
const RESTART_MS_MAX = 5_000;
/** A worker that lived this long was sound: the next one is started without much delay. */
const SOUND_MS = 10_000;

interface ChargesMessage {
  readonly charges: readonly Charge[];
}

/** Not a signal: whoever signals all processes at once has signalled the workers already. */
const STOP = 'stop';

function isCharges(message: unknown): message is ChargesMessage {
  return typeof message === 'object' && message !== null && 'charges' in message;
}

/**
 * A process that has just ended may still look connected. Whoever sends to it then need not know:
 * without this, the failure would be an error event, and end the sender as well.
 */
function ignoreFailure(): void {}

/** In a worker: keeps its budgets in step with those of the others. */
export function shareBudgets(budgets: Budgets): void {
  process.on('message', (message) => {
    if (isCharges(message)) budgets.absorb(message.charges, performance.now());
  });
  const timer = setInterval(() => {
    const charges = budgets.takeCharges();
    const message: ChargesMessage = { charges };
    if (charges.length > 0) process.send?.(message, undefined, undefined, ignoreFailure);
  }, SHARE_MS);
  timer.unref();
}

/** In a worker: aborted when the first process asks it to stop. */
export function listenToSupervisor(): AbortSignal {
  const controller = new AbortController();
  process.on('message', (message) => {
    if (message === STOP) controller.abort();
  });
  return controller.signal;
}

/** A worker that is just ending cannot be told anything, and need not be. */
function tell(worker: Worker, message: ChargesMessage | typeof STOP): void {
  if (worker.isConnected()) worker.send(message, ignoreFailure);
}

export interface SupervisorOptions {
  readonly count: number;
  readonly log: Logger;
  readonly signal: AbortSignal;
}

/** In the first process: runs the workers until the signal, then until the last has stopped. */
export async function superviseWorkers(options: SupervisorOptions): Promise<void> {
  const supervisor = new Supervisor(options);
  await supervisor.run();
}

class Supervisor {
  readonly #options: SupervisorOptions;
  readonly #workers = new Set<Worker>();
  #restartMs = RESTART_MS_MIN;
  #hasListened = false;
  #isStopping = false;
  #failed: ((error: Error) => void) | undefined;

  constructor(options: SupervisorOptions) {
    this.#options = options;
  }

  async run(): Promise<void> {
    const { count, signal } = this.#options;
    const failure = new Promise<never>((_, reject) => {
      this.#failed = reject;
    });
    for (let started = 0; started < count; started++) this.#start();
    try {
      if (!signal.aborted) await Promise.race([once(signal, 'abort'), failure]);
    } finally {
      await this.#stopAll();
    }
  }

  #start(): void {
    const { log } = this.#options;
    const worker = cluster.fork();
    const startedMs = performance.now();
    this.#workers.add(worker);
    worker.on('listening', () => {
      this.#hasListened = true;
      // What a worker was sent before it had come this far may not have reached it.
      if (this.#isStopping) tell(worker, STOP);
    });
    worker.on('message', (message) => {
      if (isCharges(message)) this.#passOn(worker, message);
    });
    worker.on('exit', (code, signalName) => {
      this.#workers.delete(worker);
      if (this.#isStopping) return;
      if (!this.#hasListened) {
        this.#failed?.(new Error('a worker could not start; the reason is above'));
        return;
      }
      log.error({ worker: worker.process.pid, code, signal: signalName }, 'a worker died');
      this.#replace(performance.now() - startedMs);
    });
  }

  #replace(livedMs: number): void {
    this.#restartMs =
      livedMs >= SOUND_MS ? RESTART_MS_MIN : Math.min(this.#restartMs * 2, RESTART_MS_MAX);
    const { signal } = this.#options;
    sleep(this.#restartMs, undefined, { signal }).then(
      () => this.#start(),
      () => undefined,
    );
  }

  #passOn(from: Worker, message: ChargesMessage): void {
    for (const worker of this.#workers) {
      if (worker !== from) tell(worker, message);
    }
  }

  async #stopAll(): Promise<void> {
    this.#isStopping = true;
    const exits = [...this.#workers].map((worker) => once(worker, 'exit'));
    for (const worker of this.#workers) tell(worker, STOP);
    await Promise.all(exits);
  }
}
