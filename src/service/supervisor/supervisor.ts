/**
 * The supervisor. It runs the workers on one port, restarts a worker that dies, forwards charges
 * between workers, and stops all workers together.
 */

import cluster, { type Worker } from 'node:cluster';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { ChargeChannel } from '../../access/budget-sharing.ts';
import { Budgets, type Charge } from '../../access/budgets.ts';
import type { SavedSnapshot } from '../../replica/snapshot-keeper.ts';
import { RestartDelay } from '../../timing/restart-delay.ts';
import type { FeedFailures } from '../feed-failures.ts';
import { HandedConnections } from './handed-connections.ts';
import { SnapshotRequests } from './snapshot-requests.ts';
import { type FromSupervisor, type FromWorker, ignoreFailure } from './worker-messages.ts';

const RESTARTS = { firstMs: 100, maxMs: 5_000, healthyMs: 10_000 };

/** Sends a message, unless the worker is exiting. */
function sendTo(worker: Worker, message: FromSupervisor): void {
  if (worker.isConnected()) worker.send(message, ignoreFailure);
}

export interface SupervisorOptions {
  readonly count: number;
  /** A worker that takes longer to stop is killed. */
  readonly stopMsMax: number;
  readonly log: Logger;
  readonly signal: AbortSignal;
  /** Forwarded to every worker. */
  readonly feedFailures?: FeedFailures;
  /** The channel to services on other machines. */
  readonly others?: ChargeChannel | undefined;
}

export class Supervisor {
  readonly #options: SupervisorOptions;
  readonly #workers = new Set<Worker>();
  /**
   * Workers that have sent "hello". A message that is sent to a worker before its "hello" would be
   * lost.
   */
  readonly #greeted = new Set<Worker>();
  readonly #answering = new Set<Worker>();
  readonly #handed = new HandedConnections();
  readonly #snapshots = new SnapshotRequests<Worker>();
  readonly #budgets = new Budgets();
  readonly #restartDelay = new RestartDelay(RESTARTS);
  #hasListened = false;
  #isStopping = false;
  #failed: ((error: Error) => void) | undefined;

  constructor(options: SupervisorOptions) {
    this.#options = options;
  }

  /** Runs the workers until the signal is aborted, then waits until all of them have exited. */
  async run(): Promise<void> {
    const { count, signal } = this.#options;
    const failure = new Promise<never>((_, reject) => {
      this.#failed = reject;
    });
    // The feed reads standard input. If a worker inherited standard input, the pipe could not
    // close.
    cluster.setupPrimary({ stdio: ['ignore', 'inherit', 'inherit', 'ipc'] });
    this.#options.feedFailures?.listen((feedFailure) => {
      for (const worker of this.#greeted) sendTo(worker, { feedFailure });
    });
    this.#options.others?.onCharges((charges) => this.#broadcast(charges));
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
    this.#handed.watch(worker);
    const startedMs = performance.now();
    this.#workers.add(worker);
    worker.on('listening', () => {
      this.#hasListened = true;
    });
    worker.on('message', (message: FromWorker) => {
      if (message === 'hello') this.#welcome(worker);
      else if (message === 'answering') this.#answering.add(worker);
      else if ('charges' in message) this.#forward(worker, message.charges);
      else if ('snapshot' in message) this.#snapshots.settle(message.snapshot);
    });
    let hasEnded = false;
    const end = (reason: object) => {
      if (hasEnded) return;
      hasEnded = true;
      this.#handed.closeOf(worker);
      this.#snapshots.dropOf(worker);
      for (const group of [this.#workers, this.#greeted, this.#answering]) group.delete(worker);
      if (this.#isStopping) return;
      if (!this.#hasListened) {
        this.#failed?.(new Error('a worker could not start; see the error above'));
        return;
      }
      log.error({ worker: worker.process.pid, ...reason }, 'a worker died');
      this.#replace(performance.now() - startedMs);
    };
    worker.on('exit', (code, signalName) => end({ code, signal: signalName }));
    worker.on('error', (err) => {
      log.error({ worker: worker.process.pid, err }, 'a worker has an error');
      // The system could not start a process, for example for lack of memory, so no exit event will
      // come.
      if (worker.process.pid === undefined) end({ err });
    });
  }

  #replace(livedMs: number): void {
    const { signal } = this.#options;
    sleep(this.#restartDelay.nextMs(livedMs), undefined, { signal }).then(
      () => this.#startAgain(),
      () => undefined,
    );
  }

  #startAgain(): void {
    try {
      this.#start();
    } catch (err) {
      // The system cannot start a process, for example for lack of memory. Until the next attempt,
      // the other workers answer.
      this.#options.log.error({ err }, 'a worker could not be started');
      this.#replace(0);
    }
  }

  #welcome(worker: Worker): void {
    const spent = this.#budgets.spent(performance.now());
    const othersAnswer = this.#answering.size > 0;
    const feedFailure = this.#options.feedFailures?.last;
    sendTo(worker, { welcome: { spent, othersAnswer, feedFailure } });
    this.#greeted.add(worker);
    // This worker may have missed an earlier "stop", because it was not ready for messages.
    if (this.#isStopping) sendTo(worker, 'stop');
  }

  #forward(from: Worker, charges: readonly Charge[]): void {
    this.#broadcast(charges, from);
    this.#options.others?.send(charges);
  }

  #broadcast(charges: readonly Charge[], from?: Worker): void {
    this.#budgets.absorb(charges, performance.now());
    for (const worker of this.#greeted) {
      if (worker !== from) sendTo(worker, { charges });
    }
  }

  /** Asks only one worker to save a snapshot, because all workers have the same state. */
  async saveSnapshot(): Promise<SavedSnapshot> {
    const [worker] = this.#answering;
    if (worker === undefined) throw new Error('no worker has a state yet: try again later');
    return await this.#snapshots.ask(worker, (id) => sendTo(worker, { saveSnapshot: id }));
  }

  async #stopAll(): Promise<void> {
    this.#isStopping = true;
    const exits = [...this.#workers].map((worker) => once(worker, 'exit'));
    for (const worker of this.#workers) sendTo(worker, 'stop');
    const deadline = setTimeout(() => this.#killAll(), this.#options.stopMsMax);
    await Promise.all(exits);
    clearTimeout(deadline);
  }

  #killAll(): void {
    for (const worker of this.#workers) {
      this.#options.log.warn(
        { worker: worker.process.pid },
        'a worker did not stop in time: killed',
      );
      worker.process.kill('SIGKILL');
    }
  }
}
