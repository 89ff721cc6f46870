/**
 * As many requests as connections bring, from a process of its own: each connection has one request in
 * flight, and sends the next when it is answered. Unlike wrk it can send headers and body apart, takes
 * any status for an answer, and connects again where the server has closed a connection.
 */

import type { ChildProcess } from 'node:child_process';
import { connect, type Socket } from 'node:net';
import { fileURLToPath } from 'node:url';
import { ask, forkScript, isForked, stopChild } from './child.ts';

const SCRIPT = fileURLToPath(import.meta.url);
const HOST = '127.0.0.1';
const CONNECTIONS = 64;
/** Far more than a request leaves behind between two collections of its garbage. */
const NODE_FLAGS = ['--max-semi-space-size=32'];

/** A request, in one write or in two. */
export interface Sent {
  readonly head: string;
  readonly body: string;
}

/**
 * How a body is written: together with its headers; in a write of its own straight after them, as
 * Python's HTTP libraries do; or a turn later, so that the server always reads the headers alone.
 */
export type BodyWrite = 'whole' | 'apart' | 'late';

export interface RequestTask {
  readonly port: number;
  /** Drawn at random. */
  readonly requests: readonly Sent[];
  readonly body: BodyWrite;
  /** How many connections ask; 64 by default. */
  readonly connections?: number;
  /** Whether each connection repeats one request, instead of drawing each at random. */
  readonly isPolling?: boolean;
  /** Any other status fails the run. */
  readonly status: number;
  readonly seconds: number;
}

export interface RequestRun {
  readonly answered: number;
  readonly seconds: number;
}

export class RequestLoad {
  readonly #process: ChildProcess = forkScript(SCRIPT, NODE_FLAGS);

  run(task: RequestTask): Promise<RequestRun> {
    return ask(this.#process, task);
  }

  stop(): Promise<void> {
    return stopChild(this.#process);
  }
}

const HEAD_END = Buffer.from('\r\n\r\n');
const LENGTH_NAME = Buffer.from('\r\nContent-Length: ');
const CLOSE = Buffer.from('\r\nConnection: close');
/** Where a status line has its status. */
const STATUS_START = 'HTTP/1.1 '.length;
const READ_BYTES = 1 << 16;
const DIGIT_ZERO = 48;

/** Read into by all connections: each response is used before the next one is read. */
const readBuffer = Buffer.allocUnsafeSlow(READ_BYTES);

/** A request as bytes. */
interface Laid {
  readonly whole: Buffer;
  readonly head: Buffer;
  readonly body: Buffer;
}

function layOut({ head, body }: Sent): Laid {
  return { whole: Buffer.from(head + body), head: Buffer.from(head), body: Buffer.from(body) };
}

/** The length that a response declares; 0 where it declares none. */
function readLength(bytes: Buffer, headEnd: number): number {
  const at = bytes.indexOf(LENGTH_NAME);
  if (at < 0 || at >= headEnd) return 0;
  let length = 0;
  for (let place = at + LENGTH_NAME.length; bytes[place] >= DIGIT_ZERO; place++) {
    length = length * 10 + bytes[place] - DIGIT_ZERO;
  }
  return length;
}

/** Sends the bodies of all requests whose headers went out in this turn, in the next one. */
class LateBodies {
  #waiting: { socket: Socket; body: Buffer }[] = [];

  send(socket: Socket, body: Buffer): void {
    if (this.#waiting.length === 0) setImmediate(() => this.#flush());
    this.#waiting.push({ socket, body });
  }

  #flush(): void {
    for (const { socket, body } of this.#waiting.splice(0)) socket.write(body);
  }
}

/** One connection after the other, each with one request in flight. */
class Asker {
  readonly #task: RequestTask;
  readonly #requests: readonly Laid[];
  readonly #lateBodies: LateBodies;
  answered = 0;
  #socket: Socket | undefined;
  /** The beginning of a response that came in several reads. */
  #partial: Buffer | undefined;
  #random: number;
  #isOver = false;
  #isWaiting = false;

  constructor(task: RequestTask, requests: readonly Laid[], late: LateBodies, index: number) {
    this.#task = task;
    // A client that polls asks for the same again and again.
    this.#requests = task.isPolling ? [requests[index % requests.length]] : requests;
    this.#lateBodies = late;
    this.#random = index + 1;
  }

  open(): void {
    this.#partial = undefined;
    const onread = {
      buffer: readBuffer,
      callback: (length: number) => {
        this.#take(readBuffer.subarray(0, length));
        return true;
      },
    };
    const socket = connect({ host: HOST, port: this.#task.port, noDelay: true, onread });
    this.#socket = socket;
    socket.once('connect', () => this.#send(socket));
    socket.once('close', () => {
      if (this.#isOver) return;
      if (this.#isWaiting) throw new Error('the server closed a connection instead of answering');
      this.open();
    });
  }

  close(): void {
    this.#isOver = true;
    this.#socket?.destroy();
  }

  #send(socket: Socket): void {
    const { whole, head, body } = this.#draw();
    this.#isWaiting = true;
    if (this.#task.body === 'whole') {
      socket.write(whole);
      return;
    }
    socket.write(head);
    if (this.#task.body === 'apart') socket.write(body);
    else this.#lateBodies.send(socket, body);
  }

  #draw(): Laid {
    this.#random = (Math.imul(this.#random, 1664525) + 1013904223) >>> 0;
    return this.#requests[Math.floor((this.#random / 2 ** 32) * this.#requests.length)];
  }

  #take(read: Buffer): void {
    const bytes = this.#partial === undefined ? read : Buffer.concat([this.#partial, read]);
    const end = bytes.indexOf(HEAD_END);
    if (end < 0 || bytes.length < end + HEAD_END.length + readLength(bytes, end)) {
      this.#partial = Buffer.from(bytes);
      return;
    }
    const status = Number(bytes.toString('latin1', STATUS_START, STATUS_START + 3));
    if (status !== this.#task.status) {
      throw new Error(`expected ${this.#task.status}, got ${bytes.toString('latin1')}`);
    }
    this.#partial = undefined;
    this.#isWaiting = false;
    this.answered += 1;
    const closesAt = bytes.indexOf(CLOSE);
    const isLast = closesAt >= 0 && closesAt < end;
    if (!this.#isOver && !isLast && this.#socket !== undefined) this.#send(this.#socket);
  }
}

async function runTask(task: RequestTask): Promise<RequestRun> {
  const requests = task.requests.map(layOut);
  const late = new LateBodies();
  const askers = Array.from(
    { length: task.connections ?? CONNECTIONS },
    (_, index) => new Asker(task, requests, late, index),
  );
  const startedMs = performance.now();
  for (const asker of askers) asker.open();
  await new Promise((resolve) => setTimeout(resolve, task.seconds * 1000));
  const seconds = (performance.now() - startedMs) / 1000;
  for (const asker of askers) asker.close();
  return { answered: askers.reduce((sum, { answered }) => sum + answered, 0), seconds };
}

function serveTasks(): void {
  process.on('message', async (task: RequestTask) => {
    process.send?.(await runTask(task));
  });
}

if (isForked(SCRIPT)) serveTasks();
