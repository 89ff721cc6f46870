/**
 * Sends as many requests as its connections allow, from a separate process. Each connection has one
 * request in flight, and sends the next one after the answer. Unlike wrk, this load can write
 * headers and body separately, give up before an answer arrives, and connect again after the server
 * has closed a connection.
 */

import type { ChildProcess } from 'node:child_process';
import { connect, type Socket } from 'node:net';
import { ask, forkScript, isForked, stopChild } from '../frame/child.ts';

const SCRIPT = import.meta.filename;
const HOST = '127.0.0.1';
const CONNECTIONS = 64;
/** A large space for new objects, so that garbage collections are rare. */
const NODE_FLAGS = ['--max-semi-space-size=32'];
/** The distance between the first requests of two connections that ask in turn. */
const APART = 7;
/** The time for which connections wait for answers after the end of a run. */
const GRACE_MS = 500;

/** A request, which is sent in one write or in two. */
export interface Sent {
  readonly head: string;
  readonly body: string;
}

/**
 * Says how a body is written. `whole`: together with its headers. `apart`: in a separate write
 * straight after them, as Python's HTTP libraries do. `late`: a turn later, so that the server
 * always reads the headers alone.
 */
export type BodyWrite = 'whole' | 'apart' | 'late';

/** Connections that send the same kind of requests. */
export interface Group {
  readonly name: string;
  readonly requests: readonly (Sent | Uint8Array)[];
  readonly body?: BodyWrite;
  /** The number of connections; 64 by default. */
  readonly connections?: number;
  /**
   * The order of the requests: one after the other (the default), at random, or the same request
   * again and again.
   */
  readonly order?: 'turn' | 'random' | 'polling';
  /** The expected status. Any other status fails the run. */
  readonly status?: number;
  /** The connection is closed this long after the request if the answer is not complete by then. */
  readonly abandonMs?: number;
  /** The pause after each answer. */
  readonly pauseMs?: number;
}

export interface GroupRun {
  readonly name: string;
  readonly answered: number;
  readonly seconds: number;
  readonly statuses: Readonly<Record<string, number>>;
  readonly abandoned: number;
  /** The number of bytes of the first answer, including its head. */
  readonly bytes: number;
  /** The latencies of the answers with status 200 in milliseconds, ascending. */
  readonly latencies: Float64Array;
}

interface Task {
  readonly port: number;
  readonly groups: readonly Group[];
  readonly seconds: number;
}

export class RequestLoad {
  readonly #process: ChildProcess = forkScript(SCRIPT, NODE_FLAGS);

  run(task: Task): Promise<GroupRun[]> {
    return ask(this.#process, task);
  }

  stop(): Promise<void> {
    return stopChild(this.#process);
  }
}

const HEAD_END = Buffer.from('\r\n\r\n');
/** The buffer into which all connections read: each read is processed before the next one. */
const readBuffer = Buffer.allocUnsafeSlow(1 << 16);

/** A request as bytes. The body is empty if the request is sent in one write. */
interface Laid {
  readonly head: Uint8Array;
  readonly body: Buffer;
}

function layOut(request: Sent | Uint8Array, write: BodyWrite): Laid {
  if (request instanceof Uint8Array) return { head: request, body: Buffer.alloc(0) };
  const { head, body } = request;
  if (write === 'whole') return { head: Buffer.from(head + body), body: Buffer.alloc(0) };
  return { head: Buffer.from(head), body: Buffer.from(body) };
}

/** Asks on one connection after the other, each with one request in flight. */
class Asker {
  readonly #port: number;
  readonly #group: Group;
  readonly #requests: readonly Laid[];
  readonly #endMs: number;
  readonly statuses = new Map<string, number>();
  readonly latencies: number[] = [];
  answered = 0;
  abandoned = 0;
  bytes = 0;
  #next: number;
  #random: number;
  /** The start of a response whose headers are not complete yet. */
  #partial: Buffer = Buffer.alloc(0);
  #missing = 0;
  #length = 0;
  #isLast = false;
  #status = '';
  #sentMs = 0;
  #isWaiting = false;
  #giveUp: NodeJS.Timeout | undefined;

  constructor(task: Task, group: Group, requests: readonly Laid[], index: number) {
    this.#port = task.port;
    this.#group = group;
    this.#requests = requests;
    this.#endMs = performance.now() + task.seconds * 1000;
    this.#next = group.order === 'polling' ? index : index * APART;
    this.#random = index + 1;
  }

  async run(): Promise<void> {
    while (performance.now() < this.#endMs) await this.#runConnection();
  }

  #runConnection(): Promise<void> {
    this.#partial = Buffer.alloc(0);
    this.#missing = 0;
    return new Promise((resolve) => {
      const callback = (length: number) => {
        this.#take(socket, readBuffer.subarray(0, length));
        return true;
      };
      const onread = { buffer: readBuffer, callback };
      const socket = connect({ host: HOST, port: this.#port, noDelay: true, onread });
      socket.once('connect', () => this.#send(socket));
      socket.on('error', () => undefined);
      socket.once('close', () => {
        clearTimeout(this.#giveUp);
        const isCut = this.#isWaiting && performance.now() < this.#endMs;
        if (isCut && this.#group.status !== undefined) {
          throw new Error('the server closed a connection instead of answering');
        }
        setImmediate(resolve);
      });
      setTimeout(() => socket.destroy(), this.#endMs - performance.now() + GRACE_MS).unref();
    });
  }

  #send(socket: Socket): void {
    if (performance.now() >= this.#endMs) {
      socket.destroy();
      return;
    }
    const { body: write, abandonMs } = this.#group;
    const { head, body } = this.#draw();
    this.#isWaiting = true;
    this.#sentMs = performance.now();
    socket.write(head);
    if (body.length > 0 && write === 'late') setImmediate(() => socket.write(body));
    else if (body.length > 0) socket.write(body);
    if (abandonMs !== undefined) this.#giveUp = setTimeout(() => this.#abandon(socket), abandonMs);
  }

  #draw(): Laid {
    const { length } = this.#requests;
    const { order = 'turn' } = this.#group;
    if (order === 'polling') return this.#requests[this.#next % length];
    if (order === 'turn') return this.#requests[this.#next++ % length];
    this.#random = (Math.imul(this.#random, 1664525) + 1013904223) >>> 0;
    return this.#requests[Math.floor((this.#random / 2 ** 32) * length)];
  }

  #abandon(socket: Socket): void {
    this.abandoned++;
    this.#isWaiting = false;
    socket.destroy();
  }

  #take(socket: Socket, read: Buffer): void {
    if (this.#missing > 0) this.#missing -= read.length;
    else if (!this.#begin(read)) return;
    if (this.#missing > 0) return;
    clearTimeout(this.#giveUp);
    this.#note(performance.now() - this.#sentMs);
    const { pauseMs = 0 } = this.#group;
    if (this.#isLast) socket.destroy();
    else if (pauseMs > 0) setTimeout(() => this.#send(socket), pauseMs);
    else this.#send(socket);
  }

  /** Reads the head of a response; returns false while the head is not complete. */
  #begin(read: Buffer): boolean {
    const bytes = this.#partial.length === 0 ? read : Buffer.concat([this.#partial, read]);
    const end = bytes.indexOf(HEAD_END);
    this.#partial = end < 0 ? Buffer.from(bytes) : Buffer.alloc(0);
    if (end < 0) return false;
    const head = bytes.toString('latin1', 0, end);
    this.#status = head.slice('HTTP/1.1 '.length, 'HTTP/1.1 200'.length);
    this.#isLast = /\r\nconnection: close/i.test(head);
    this.#length =
      end + HEAD_END.length + Number(/\r\ncontent-length: (\d+)/i.exec(head)?.[1] ?? 0);
    this.#missing = this.#length - bytes.length;
    const { status } = this.#group;
    if (status !== undefined && this.#status !== `${status}`) {
      throw new Error(`expected ${status}, got ${bytes.toString('latin1')}`);
    }
    return true;
  }

  #note(ms: number): void {
    this.#isWaiting = false;
    if (this.answered++ === 0) this.bytes = this.#length;
    this.statuses.set(this.#status, (this.statuses.get(this.#status) ?? 0) + 1);
    if (this.#status === '200') this.latencies.push(ms);
  }
}

async function runGroup(task: Task, group: Group): Promise<GroupRun> {
  const { name, connections = CONNECTIONS, body = 'whole' } = group;
  const requests = group.requests.map((request) => layOut(request, body));
  const startedMs = performance.now();
  const askers = Array.from(
    { length: connections },
    (_, index) => new Asker(task, group, requests, index),
  );
  await Promise.all(askers.map((asker) => asker.run()));
  const statuses: Record<string, number> = {};
  for (const [status, count] of askers.flatMap((asker) => [...asker.statuses])) {
    statuses[status] = (statuses[status] ?? 0) + count;
  }
  const sum = (figure: 'answered' | 'abandoned') =>
    askers.reduce((total, asker) => total + asker[figure], 0);
  return {
    ...{ name, statuses, answered: sum('answered'), abandoned: sum('abandoned') },
    seconds: (performance.now() - startedMs) / 1000,
    bytes: askers[0].bytes,
    latencies: new Float64Array(askers.flatMap((asker) => asker.latencies)).sort(),
  };
}

if (isForked(SCRIPT)) {
  process.on('message', async (task: Task) => {
    process.send?.(await Promise.all(task.groups.map((group) => runGroup(task, group))));
  });
}
