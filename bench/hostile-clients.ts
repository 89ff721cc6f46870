/**
 * The clients of `hostile.ts`, in processes of their own: connections that ask without a pause, note how
 * long each answer takes, or give up before it comes.
 */

import type { ChildProcess } from 'node:child_process';
import { connect, type Socket } from 'node:net';
import { ask, forkScript, isForked, stopChild } from './child.ts';

const SCRIPT = import.meta.filename;
const HEAD_END = '\r\n\r\n';

/** Connections that ask the same kind of thing. */
export interface Group {
  readonly name: string;
  /** Whole requests, asked in turn. */
  readonly requests: readonly Uint8Array[];
  readonly connections: number;
  /** The connection is closed so long after the request, whether there was an answer or not. */
  readonly abandonMs?: number;
  /** Pause after each answer. */
  readonly pauseMs?: number;
}

export interface GroupRun {
  readonly name: string;
  readonly statuses: Readonly<Record<string, number>>;
  readonly abandoned: number;
  /** Milliseconds until each answer with status 200, ascending. */
  readonly latencies: Float64Array;
}

interface Task {
  readonly port: number;
  readonly groups: readonly Group[];
  readonly seconds: number;
}

export class Clients {
  readonly #process: ChildProcess = forkScript(SCRIPT);

  run(task: Task): Promise<GroupRun[]> {
    return ask(this.#process, task);
  }

  stop(): Promise<void> {
    return stopChild(this.#process);
  }
}

/** Reads responses one after the other, and keeps their heads only. */
class ResponseReader {
  #head = '';
  #missing = -1;

  /** The head of the response once it is whole. */
  take(bytes: Buffer): string | undefined {
    if (this.#missing >= 0) this.#missing -= bytes.length;
    else this.#takeHead(bytes);
    if (this.#missing !== 0) return undefined;
    const head = this.#head;
    this.#head = '';
    this.#missing = -1;
    return head;
  }

  #takeHead(bytes: Buffer): void {
    const before = this.#head.length;
    this.#head += bytes.toString('latin1');
    const end = this.#head.indexOf(HEAD_END);
    if (end < 0) return;
    const length = Number(/\r\ncontent-length: (\d+)/i.exec(this.#head)?.[1] ?? 0);
    this.#missing = end + HEAD_END.length + length - before - bytes.length;
    this.#head = this.#head.slice(0, end);
  }
}

class Asker {
  readonly #task: Task;
  readonly #group: Group;
  readonly #endMs: number;
  #next: number;
  readonly statuses: Record<string, number> = {};
  readonly latencies: number[] = [];
  abandoned = 0;

  constructor(task: Task, group: Group, place: number, endMs: number) {
    this.#task = task;
    this.#group = group;
    this.#endMs = endMs;
    this.#next = place;
  }

  async run(): Promise<void> {
    while (performance.now() < this.#endMs) await this.#runConnection();
  }

  #runConnection(): Promise<void> {
    const { port } = this.#task;
    const { abandonMs, pauseMs = 0 } = this.#group;
    return new Promise((resolve) => {
      const socket = connect({ host: '127.0.0.1', port, noDelay: true });
      const reader = new ResponseReader();
      let sentMs = 0;
      let giveUp: NodeJS.Timeout | undefined;
      const send = () => {
        if (performance.now() >= this.#endMs) {
          socket.destroy();
          return;
        }
        sentMs = performance.now();
        this.#send(socket);
        if (abandonMs !== undefined) giveUp = setTimeout(() => this.#abandon(socket), abandonMs);
      };
      socket.on('connect', send);
      socket.on('data', (bytes) => {
        const head = reader.take(bytes);
        if (head === undefined) return;
        clearTimeout(giveUp);
        this.#note(head, performance.now() - sentMs);
        if (pauseMs > 0) setTimeout(send, pauseMs);
        else send();
      });
      socket.on('error', () => undefined);
      socket.on('close', () => {
        clearTimeout(giveUp);
        setImmediate(resolve);
      });
      setTimeout(() => socket.destroy(), this.#endMs - performance.now() + 500).unref();
    });
  }

  #send(socket: Socket): void {
    const { requests } = this.#group;
    socket.write(requests[this.#next++ % requests.length]);
  }

  #abandon(socket: Socket): void {
    this.abandoned++;
    socket.destroy();
  }

  #note(head: string, ms: number): void {
    const status = head.slice('HTTP/1.1 '.length, 'HTTP/1.1 200'.length);
    this.statuses[status] = (this.statuses[status] ?? 0) + 1;
    if (status === '200') this.latencies.push(ms);
  }
}

async function runGroup(task: Task, group: Group, endMs: number): Promise<GroupRun> {
  const askers = Array.from(
    { length: group.connections },
    (_, index) => new Asker(task, group, index * 7, endMs),
  );
  await Promise.all(askers.map((asker) => asker.run()));
  const statuses: Record<string, number> = {};
  for (const asker of askers) {
    for (const [status, count] of Object.entries(asker.statuses)) {
      statuses[status] = (statuses[status] ?? 0) + count;
    }
  }
  const abandoned = askers.reduce((sum, asker) => sum + asker.abandoned, 0);
  const latencies = new Float64Array(askers.flatMap((asker) => asker.latencies)).sort();
  return { name: group.name, statuses, abandoned, latencies };
}

if (isForked(SCRIPT)) {
  process.on('message', async (task: Task) => {
    const endMs = performance.now() + task.seconds * 1000;
    process.send?.(await Promise.all(task.groups.map((group) => runGroup(task, group, endMs))));
  });
}
