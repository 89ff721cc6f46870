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

export interface RequestTask {
  readonly port: number;
  /** Drawn at random. */
  readonly requests: readonly Sent[];
  /** Whether the body is written in a turn of its own, after the headers have gone. */
  readonly isApart: boolean;
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

const HEAD_END = '\r\n\r\n';
const LENGTH = /\r\ncontent-length: (\d+)/i;

/** One connection after the other, each with one request in flight. */
class Asker {
  readonly #task: RequestTask;
  readonly #requests: readonly { whole: Buffer; head: Buffer; body: Buffer }[];
  answered = 0;
  #socket: Socket | undefined;
  #received = '';
  #random: number;
  #isOver = false;
  #isWaiting = false;

  constructor(task: RequestTask, index: number) {
    this.#task = task;
    this.#random = index + 1;
    this.#requests = task.requests.map(({ head, body }) => ({
      whole: Buffer.from(head + body),
      head: Buffer.from(head),
      body: Buffer.from(body),
    }));
  }

  open(): void {
    this.#received = '';
    const socket = connect({ host: HOST, port: this.#task.port, noDelay: true });
    this.#socket = socket;
    socket.setEncoding('latin1');
    socket.on('data', (text: string) => this.#take(text));
    socket.once('connect', () => this.#send());
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

  #send(): void {
    const { whole, head, body } = this.#draw();
    this.#isWaiting = true;
    if (!this.#task.isApart) {
      this.#socket?.write(whole);
      return;
    }
    this.#socket?.write(head);
    setImmediate(() => this.#socket?.write(body));
  }

  #draw() {
    this.#random = (Math.imul(this.#random, 1664525) + 1013904223) >>> 0;
    return this.#requests[Math.floor((this.#random / 2 ** 32) * this.#requests.length)];
  }

  #take(text: string): void {
    this.#received += text;
    const end = this.#received.indexOf(HEAD_END);
    if (end < 0) return;
    const head = this.#received.slice(0, end);
    const length = Number(LENGTH.exec(head)?.[1] ?? 0);
    if (this.#received.length < end + HEAD_END.length + length) return;
    if (!head.startsWith(`HTTP/1.1 ${this.#task.status} `)) {
      throw new Error(`expected ${this.#task.status}, got ${head}`);
    }
    this.#received = '';
    this.#isWaiting = false;
    this.answered += 1;
    if (!this.#isOver && !/\r\nconnection: close/i.test(head)) this.#send();
  }
}

async function runTask(task: RequestTask): Promise<RequestRun> {
  const askers = Array.from({ length: CONNECTIONS }, (_, index) => new Asker(task, index));
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
