/**
 * Several workers on one port, and the process that looks after them: it replaces one that dies,
 * passes on what each charges to budgets, and stops them together.
 *
 *   worker -> supervisor   "hello"               it listens to messages from here on
 *   supervisor -> worker   { welcome }           what it begins with
 *   worker -> supervisor   "answering"           it has a state to answer from
 *   both ways              { charges }           what was charged, to every other worker
 *   supervisor -> worker   { feedFailure }       the feed has failed; part of a later welcome, too
 *   supervisor -> worker   "stop"
 */

import cluster, { type Worker } from 'node:cluster';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import { Budgets, type Charge } from '../access/budgets.ts';
import type { ChargeChannel } from '../access/charge-sharing.ts';
import type { FeedFailure } from '../replica/live-state.ts';

const RESTART_MS_MIN = 100;
const RESTART_MS_MAX = 5_000;
/** A worker that lived this long was sound: the next one is started without much delay. */
const SOUND_MS = 10_000;

/** What a worker begins with. */
export interface Welcome {
  /** What each key has spent so far: a worker that is replaced must not give it back. */
  readonly spent: readonly Charge[];
  /** True where others answer already: this one takes no connection before it can answer too. */
  readonly othersAnswer: boolean;
  readonly feedFailure?: FeedFailure | undefined;
}

type FromWorker = 'hello' | 'answering' | { readonly charges: readonly Charge[] };
/** "stop" is no signal: whoever signals all processes at once has signalled the workers already. */
type FromSupervisor =
  | 'stop'
  | { readonly welcome: Welcome }
  | { readonly feedFailure: FeedFailure }
  | { readonly charges: readonly Charge[] };

/**
 * A process that has just ended may still look connected. Whoever sends to it then need not know:
 * without this, the failure would be an error event, and end the sender as well.
 */
function ignoreFailure(): void {}

/** In a worker: the process that looks after it, and through it the other workers. */
export class SupervisorLink implements ChargeChannel {
  readonly #stop = new AbortController();
  readonly #welcome: Promise<Welcome>;
  /** Resolves when the first process's feed has failed. */
  readonly feedFailure: Promise<FeedFailure>;
  #absorb: ((charges: readonly Charge[]) => void) | undefined;

  constructor() {
    let tellFailure: (failure: FeedFailure) => void = () => undefined;
    this.feedFailure = new Promise((resolve) => {
      tellFailure = resolve;
    });
    this.#welcome = new Promise((resolve) => {
      process.on('message', (message: FromSupervisor) => {
        if (message === 'stop') this.#stop.abort();
        else if ('welcome' in message) resolve(message.welcome);
        else if ('charges' in message) this.#absorb?.(message.charges);
        else if ('feedFailure' in message) tellFailure(message.feedFailure);
      });
    });
    void this.#welcome.then(({ feedFailure }) => {
      if (feedFailure !== undefined) tellFailure(feedFailure);
    });
  }

  /** Aborted when the first process asks this one to stop. */
  get stop(): AbortSignal {
    return this.#stop.signal;
  }

  /** Says that messages are listened to; charges come from here on. */
  greet(): Promise<Welcome> {
    this.#send('hello');
    return this.#welcome;
  }

  tellAnswering(): void {
    this.#send('answering');
  }

  send(charges: readonly Charge[]): void {
    this.#send({ charges });
  }

  onCharges(absorb: (charges: readonly Charge[]) => void): void {
    this.#absorb = absorb;
  }

  #send(message: FromWorker): void {
    process.send?.(message, undefined, undefined, ignoreFailure);
  }
}

/** A worker that is just ending cannot be told anything, and need not be. */
function tell(worker: Worker, message: FromSupervisor): void {
  if (worker.isConnected()) worker.send(message, ignoreFailure);
}

export interface SupervisorOptions {
  readonly count: number;
  readonly log: Logger;
  readonly signal: AbortSignal;
  /** Resolves when the service's own feed has failed: every worker is told. */
  readonly feedFailure?: Promise<FeedFailure>;
  /** A way to the workers of other machines. */
  readonly others?: ChargeChannel | undefined;
}

/** In the first process: runs the workers until the signal, then until the last has stopped. */
export async function superviseWorkers(options: SupervisorOptions): Promise<void> {
  const supervisor = new Supervisor(options);
  await supervisor.run();
}

class Supervisor {
  readonly #options: SupervisorOptions;
  readonly #workers = new Set<Worker>();
  /** Those that listen to messages: others would lose them. */
  readonly #greeted = new Set<Worker>();
  readonly #answering = new Set<Worker>();
  readonly #budgets = new Budgets();
  #restartMs = RESTART_MS_MIN;
  #hasListened = false;
  #isStopping = false;
  #feedFailure: FeedFailure | undefined;
  #failed: ((error: Error) => void) | undefined;

  constructor(options: SupervisorOptions) {
    this.#options = options;
  }

  async run(): Promise<void> {
    const { count, signal } = this.#options;
    const failure = new Promise<never>((_, reject) => {
      this.#failed = reject;
    });
    // Standard input is for the feed: whoever holds it open would keep the feed from seeing its end.
    cluster.setupPrimary({ stdio: ['ignore', 'inherit', 'inherit', 'ipc'] });
    void this.#options.feedFailure?.then((feedFailure) => {
      this.#feedFailure = feedFailure;
      for (const worker of this.#greeted) tell(worker, { feedFailure });
    });
    this.#options.others?.onCharges((charges) => this.#tellWorkers(charges));
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
    worker.on('message', (message: FromWorker) => {
      if (message === 'hello') this.#welcome(worker);
      else if (message === 'answering') this.#answering.add(worker);
      else if ('charges' in message) this.#passOn(worker, message.charges);
    });
    worker.on('exit', (code, signalName) => {
      for (const group of [this.#workers, this.#greeted, this.#answering]) group.delete(worker);
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

  #welcome(worker: Worker): void {
    const spent = this.#budgets.spent(performance.now());
    const othersAnswer = this.#answering.size > 0;
    tell(worker, { welcome: { spent, othersAnswer, feedFailure: this.#feedFailure } });
    this.#greeted.add(worker);
    // It may have been told before it listened.
    if (this.#isStopping) tell(worker, 'stop');
  }

  #passOn(from: Worker, charges: readonly Charge[]): void {
    this.#tellWorkers(charges, from);
    this.#options.others?.send(charges);
  }

  #tellWorkers(charges: readonly Charge[], from?: Worker): void {
    this.#budgets.absorb(charges, performance.now());
    for (const worker of this.#greeted) {
      if (worker !== from) tell(worker, { charges });
    }
  }

  async #stopAll(): Promise<void> {
    this.#isStopping = true;
    const exits = [...this.#workers].map((worker) => once(worker, 'exit'));
    for (const worker of this.#workers) tell(worker, 'stop');
    await Promise.all(exits);
  }
}
