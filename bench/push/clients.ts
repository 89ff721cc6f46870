/**
 * The clients of a push benchmark, which `startClients` starts in a separate process. They share
 * the machine with the server, but not its event loop.
 */

import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { Crowd, type PushAddress, type Wish } from '../../test/push/crowd.ts';

/** The task of the clients. */
interface Task extends PushAddress {
  readonly wishes: readonly (readonly Wish[])[];
}

/** The figures that the clients have measured during some time. */
export interface Received {
  readonly updatesPerSecond: number;
  /** The median of the times from a block's time to the arrival of its state. */
  readonly delayP50Ms: number;
  readonly delayP99Ms: number;
  readonly bytesPerUpdate: number;
}

export class PushClients {
  readonly #process: ChildProcess;

  constructor(clients: ChildProcess) {
    this.#process = clients;
  }

  get pid(): number {
    return this.#process.pid ?? 0;
  }

  async measure(seconds: number): Promise<Received> {
    this.#process.send({ seconds });
    return (await receive(this.#process)) as Received;
  }

  stop(): void {
    this.#process.kill('SIGKILL');
  }
}

/** Returns the clients when each subscription has received its first state. */
export async function startClients(task: Task): Promise<PushClients> {
  const clients = fork(fileURLToPath(import.meta.url), ['clients']);
  clients.send(task);
  await receive(clients);
  return new PushClients(clients);
}

async function receive(clients: ChildProcess): Promise<unknown> {
  const ended = once(clients, 'exit').then(([code]) => {
    throw new Error(`the clients ended with ${code}`);
  });
  const [message] = await Promise.race([once(clients, 'message'), ended]);
  return message;
}

function rank(sorted: Float64Array, share: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}

async function measureCrowd(crowd: Crowd, seconds: number): Promise<Received> {
  const delays: number[] = [];
  let bytes = 0;
  crowd.onUpdate = ({ time }, length) => {
    delays.push(Date.now() - time);
    bytes += length;
  };
  const startedMs = performance.now();
  await sleep(seconds * 1000);
  const secondsTaken = (performance.now() - startedMs) / 1000;
  crowd.onUpdate = () => undefined;
  const sorted = Float64Array.from(delays).sort();
  return {
    updatesPerSecond: delays.length / secondsTaken,
    delayP50Ms: rank(sorted, 0.5),
    delayP99Ms: rank(sorted, 0.99),
    bytesPerUpdate: bytes / delays.length,
  };
}

async function runClients(): Promise<void> {
  const [task] = (await once(process, 'message')) as [Task];
  const crowd = new Crowd();
  await crowd.connect(task, task.wishes);
  process.send?.('connected');
  process.on('message', async ({ seconds }: { seconds: number }) => {
    process.send?.(await measureCrowd(crowd, seconds));
  });
}

if (process.argv[2] === 'clients') await runClients();
