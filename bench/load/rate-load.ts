/**
 * Load at a rate that is kept, from a process of its own. Request i is due at start + i / rate, and
 * its latency is counted from then, whether or not it could be sent: a server that falls behind makes
 * later requests wait, and that is what their users would see. (wrk asks again only when it was
 * answered, so a server that stops for a second delays 64 requests, not a second's worth of them.)
 *
 * A connection has one request in flight. What is due while none is free waits, and is sent in order.
 */

import type { ChildProcess } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { ask, forkScript, isForked, stopChild } from '../frame/child.ts';
import { steadyMs } from '../frame/clock.ts';

const SCRIPT = fileURLToPath(import.meta.url);
const HOST = '127.0.0.1';
const CONNECTIONS = 64;
const READ_BYTES = 1 << 16;
/** Far more than a request leaves behind between two collections of its garbage; none of it lives. */
const NODE_FLAGS = ['--max-semi-space-size=32'];

const PAUSE_MS = 0.05;
/** Answers that take longer than this are looked for after pauses: what these add does not matter. */
const SOON_MS = 0.1;
/** Linux ends a pause later than asked, by up to 50 µs unless it is told otherwise. */
const SLACK_FILE = '/proc/self/timerslack_ns';
const SLACK_NS = 1000;
/** A pause may be longer by so much, with that slack. */
const OVERSLEEP_MS = 0.03;
const NEVER_WOKEN = new Int32Array(new SharedArrayBuffer(4));

export interface RateTask {
  readonly port: number;
  readonly requestPath: string;
  readonly requestsPerSecond: number;
  /** These come first, at the same rate, and are not counted. */
  readonly warmUpSeconds: number;
  readonly seconds: number;
}

/** What became of each request, in the order in which they were due. */
export interface RateRun {
  /** When the first one that counts was due, by the steady clock; the others follow at the rate. */
  readonly startMs: number;
  readonly requestsPerSecond: number;
  /** From when it was due to the last byte of its answer. */
  readonly latenciesMs: Float64Array;
  /** The part of it that went by before it was sent. */
  readonly waitsMs: Float64Array;
  /** What the answer's Ledger-Height says; 0 where it has none. */
  readonly heights: Float64Array;
}

export class RateLoad {
  readonly #process: ChildProcess;

  constructor(load: ChildProcess) {
    this.#process = load;
  }

  run(task: RateTask): Promise<RateRun> {
    return ask(this.#process, task);
  }

  stop(): Promise<void> {
    return stopChild(this.#process);
  }
}

/** Asks with random ones of the bodies; they are kept in a file of the folder. */
export async function startRateLoad(folder: string, bodies: readonly string[]): Promise<RateLoad> {
  const bodiesFile = path.join(folder, 'rate-bodies.txt');
  writeFileSync(bodiesFile, bodies.join('\n'));
  const load = forkScript(SCRIPT, NODE_FLAGS);
  await ask(load, { bodiesFile });
  return new RateLoad(load);
}

const HEADER_END = Buffer.from('\r\n\r\n');
const OK = Buffer.from('HTTP/1.1 200');
const LENGTH_NAMES = [Buffer.from('\r\nContent-Length: '), Buffer.from('\r\ncontent-length: ')];
const HEIGHT_NAMES = [Buffer.from('\r\nLedger-Height: '), Buffer.from('\r\nledger-height: ')];
const DIGIT_ZERO = 48;

/** The whole number that follows one of the names; -1 where there is none before `end`. */
function readHeader(bytes: Buffer, names: readonly Buffer[], end: number): number {
  for (const name of names) {
    const at = bytes.indexOf(name);
    if (at < 0 || at >= end) continue;
    let value = 0;
    for (let place = at + name.length; place < end; place++) {
      const digit = bytes[place] - DIGIT_ZERO;
      if (digit < 0 || digit > 9) break;
      value = value * 10 + digit;
    }
    return value;
  }
  return -1;
}

/** One connection: sends a request, and tells when its answer is whole. */
class Connection {
  /** The request in flight. */
  request = 0;
  height = 0;
  readonly #socket: Socket;
  readonly #answered: (connection: Connection) => void;
  /** Bytes of the answer's body that are still to come. */
  #missing = 0;
  /** The beginning of an answer whose headers came in parts. */
  #held: Buffer | undefined;

  constructor(socket: Socket, answered: (connection: Connection) => void) {
    this.#socket = socket;
    this.#answered = answered;
  }

  send(request: number, bytes: Buffer): void {
    this.request = request;
    this.#socket.write(bytes);
  }

  close(): void {
    this.#socket.destroy();
  }

  /** The buffer is used again for the next bytes. */
  take(count: number, buffer: Buffer): void {
    if (this.#missing > 0) this.#missing -= count;
    else if (this.#held === undefined) this.#begin(count, buffer);
    else {
      const joined = Buffer.concat([this.#held, buffer.subarray(0, count)]);
      this.#held = undefined;
      this.#begin(joined.length, joined);
    }
    if (this.#missing < 0) throw new Error('more was answered than was asked');
    if (this.#missing === 0 && this.#held === undefined) this.#answered(this);
  }

  #begin(count: number, bytes: Buffer): void {
    const end = bytes.indexOf(HEADER_END);
    if (end < 0 || end >= count) {
      this.#held = Buffer.from(bytes.subarray(0, count));
      return;
    }
    const length = readHeader(bytes, LENGTH_NAMES, end);
    const isGood = bytes.compare(OK, 0, OK.length, 0, OK.length) === 0 && length >= 0;
    if (!isGood) throw new Error(`a request failed: ${bytes.toString('latin1', 0, count)}`);
    this.height = Math.max(0, readHeader(bytes, HEIGHT_NAMES, end));
    this.#missing = end + HEADER_END.length + length - count;
  }
}

function openConnection(
  port: number,
  answered: (connection: Connection) => void,
): Promise<Connection> {
  return new Promise((resolve, reject) => {
    const onread = {
      buffer: Buffer.alloc(READ_BYTES),
      callback: (count: number, buffer: Uint8Array) => {
        connection.take(count, buffer as Buffer);
        return true;
      },
    };
    const socket = connect({ host: HOST, port, noDelay: true, onread });
    const connection = new Connection(socket, answered);
    socket.once('connect', () => resolve(connection));
    socket.once('error', reject);
    socket.once('end', () => {
      throw new Error('the server has closed a connection');
    });
  });
}

/** The requests of a run, sent as they become due. Everything is allocated before the first one. */
class Schedule {
  readonly #requests: readonly Buffer[];
  readonly #count: number;
  readonly #intervalMs: number;
  readonly #latenciesMs: Float64Array;
  readonly #waitsMs: Float64Array;
  readonly #heights: Float64Array;
  /** A ring of those without a request in flight: the one that has been free for longest is next. */
  readonly #free: Connection[] = [];
  #freeFrom = 0;
  #freeCount = 0;
  #startMs = 0;
  #next = 0;
  /** When the last request was sent, or answered. */
  #activeMs = 0;
  #answeredCount = 0;
  #random = 1;
  #done: () => void = () => undefined;

  constructor(requests: readonly Buffer[], count: number, requestsPerSecond: number) {
    this.#requests = requests;
    this.#count = count;
    this.#intervalMs = 1000 / requestsPerSecond;
    this.#latenciesMs = new Float64Array(count);
    this.#waitsMs = new Float64Array(count);
    this.#heights = new Float64Array(count);
  }

  async open(port: number): Promise<void> {
    const answered = (connection: Connection) => this.#take(connection);
    for (let opened = 0; opened < CONNECTIONS; opened++) {
      this.#free.push(await openConnection(port, answered));
    }
    this.#freeCount = CONNECTIONS;
  }

  close(): void {
    for (const connection of this.#free) connection.close();
  }

  run(): Promise<void> {
    this.#startMs = steadyMs();
    return new Promise((resolve) => {
      this.#done = resolve;
      this.#turn();
    });
  }

  /** All but the first `skipped`. */
  results(skipped: number): Omit<RateRun, 'requestsPerSecond'> {
    return {
      startMs: this.#startMs + skipped * this.#intervalMs,
      latenciesMs: this.#latenciesMs.slice(skipped),
      waitsMs: this.#waitsMs.slice(skipped),
      heights: this.#heights.slice(skipped),
    };
  }

  /** Looks at the clock in every turn of the loop: a timer would be late by up to a millisecond. */
  readonly #turn = (): void => {
    const nowMs = steadyMs();
    this.#sendDue(nowMs);
    if (this.#answeredCount === this.#count) {
      this.#done();
      return;
    }
    setImmediate(this.#turn);
    this.#pause(nowMs);
  };

  /**
   * Leaves the core to others where looking again would be of little use: until the next request is due,
   * unless an answer may come soon. Otherwise the load would take a core for itself, and who shares the
   * other one would seem slower than it is.
   */
  #pause(nowMs: number): void {
    const isAnswerSoon = this.#freeCount < CONNECTIONS && nowMs - this.#activeMs < SOON_MS;
    if (isAnswerSoon) return;
    const untilDueMs = this.#msUntilDue(nowMs) - OVERSLEEP_MS;
    const pauseMs = this.#freeCount < CONNECTIONS ? Math.min(PAUSE_MS, untilDueMs) : untilDueMs;
    if (pauseMs > 0) Atomics.wait(NEVER_WOKEN, 0, 0, pauseMs);
  }

  /** Infinity if none is left, or no connection is free. */
  #msUntilDue(nowMs: number): number {
    if (this.#freeCount === 0 || this.#next === this.#count) return Number.POSITIVE_INFINITY;
    return this.#startMs + this.#next * this.#intervalMs - nowMs;
  }

  #sendDue(nowMs: number): void {
    while (this.#freeCount > 0 && this.#next < this.#count) {
      const waitMs = nowMs - this.#startMs - this.#next * this.#intervalMs;
      if (waitMs < 0) return;
      const connection = this.#free[this.#freeFrom];
      this.#freeFrom = (this.#freeFrom + 1) % CONNECTIONS;
      this.#freeCount--;
      this.#waitsMs[this.#next] = waitMs;
      this.#activeMs = nowMs;
      connection.send(this.#next++, this.#drawRequest());
    }
  }

  #drawRequest(): Buffer {
    this.#random = (Math.imul(this.#random, 1664525) + 1013904223) >>> 0;
    return this.#requests[Math.floor((this.#random / 2 ** 32) * this.#requests.length)];
  }

  #take(connection: Connection): void {
    const nowMs = steadyMs();
    const { request, height } = connection;
    this.#latenciesMs[request] = nowMs - this.#startMs - request * this.#intervalMs;
    this.#heights[request] = height;
    this.#activeMs = nowMs;
    this.#answeredCount++;
    this.#free[(this.#freeFrom + this.#freeCount) % CONNECTIONS] = connection;
    this.#freeCount++;
    this.#sendDue(nowMs);
  }
}

function formatRequest(requestPath: string, body: string): Buffer {
  const head = `POST ${requestPath} HTTP/1.1\r\nHost: ${HOST}\r\nContent-Type: application/json\r\n`;
  return Buffer.from(`${head}Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`);
}

async function runTask(bodies: readonly string[], task: RateTask): Promise<RateRun> {
  const { port, requestPath, requestsPerSecond, warmUpSeconds, seconds } = task;
  const requests = bodies.map((body) => formatRequest(requestPath, body));
  const skipped = Math.floor(warmUpSeconds * requestsPerSecond);
  const count = skipped + Math.floor(seconds * requestsPerSecond);
  const schedule = new Schedule(requests, count, requestsPerSecond);
  await schedule.open(port);
  await schedule.run();
  schedule.close();
  return { requestsPerSecond, ...schedule.results(skipped) };
}

function serveTasks(): void {
  writeFileSync(SLACK_FILE, String(SLACK_NS));
  let bodies: string[] = [];
  process.on('message', async (message: RateTask | { bodiesFile: string }) => {
    if ('bodiesFile' in message) {
      bodies = readFileSync(message.bodiesFile, 'utf8').split('\n');
      process.send?.('ready');
    } else {
      process.send?.(await runTask(bodies, message));
    }
  });
}

if (isForked(SCRIPT)) serveTasks();
