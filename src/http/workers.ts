/**
 * Several workers on one port, and the process that looks after them: it replaces one that dies,
 * passes on what each charges to budgets, and stops them together.
 */

import cluster, { type Worker } from 'node:cluster';
import { once } from 'node:events';
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
    });
    worker.on('message', (message) => {
      if (isCharges(message)) this.#passOn(worker, message);
    });
    worker.on('exit', (code, signalName) => {
      this.#workers.delete(worker);
      if (this.#options.signal.aborted) return;
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
    setTimeout(() => {
      if (!this.#options.signal.aborted) this.#start();
    }, this.#restartMs);
  }

  #passOn(from: Worker, message: ChargesMessage): void {
    for (const worker of this.#workers) {
      if (worker !== from && worker.isConnected()) worker.send(message, ignoreFailure);
    }
  }

  async #stopAll(): Promise<void> {
    const exits = [...this.#workers].map((worker) => once(worker, 'exit'));
    for (const worker of this.#workers) if (worker.isConnected()) worker.send(STOP);
    await Promise.all(exits);
  }
}
