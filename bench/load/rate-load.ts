/**
 * Sends load at a constant rate, from a separate process. Request i is due at start + i / rate. Its
 * latency is counted from this time, even if it could not be sent then. A server that falls behind
 * makes later requests wait, and its users would notice this. (wrk sends a request only after an
 * answer, so a server that stops for a second delays 64 requests, not all requests of a second.)
 *
 * A connection has one request in flight. A request that is due while no connection is free waits,
 * and is sent in order.
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
/**
 * A large space for new objects, so that garbage collections are rare. No object of a request
 * survives them.
 */
const NODE_FLAGS = ['--max-semi-space-size=32'];

const PAUSE_MS = 0.05;
/**
 * If an answer takes longer than this, the load checks for it only after pauses. The time that the
 * pauses add then does not matter.
 */
const SOON_MS = 0.1;
/** Linux ends a pause up to 50 µs late, unless the process sets another limit. */
const SLACK_FILE = '/proc/self/timerslack_ns';
const SLACK_NS = 1000;
/** The time by which a pause may be too long with that limit. */
const OVERSLEEP_MS = 0.03;
const NEVER_WOKEN = new Int32Array(new SharedArrayBuffer(4));

export interface RateTask {
  readonly port: number;
  readonly requestPath: string;
  readonly requestsPerSecond: number;
  /** The seconds before the measurement, at the same rate, which do not count. */
  readonly warmUpSeconds: number;
  readonly seconds: number;
}

/** The results of the requests, in the order in which they were due. */
export interface RateRun {
  /**
   * The time at which the first counted request was due, by the steady clock. The other requests
   * follow at the rate.
   */
  readonly startMs: number;
  readonly requestsPerSecond: number;
  /** The times from when a request was due to the last byte of its answer. */
  readonly latenciesMs: Float64Array;
  /** The part of each latency that passed before the request was sent. */
  readonly waitsMs: Float64Array;
  /** The Ledger-Height of each answer; 0 if the answer has none. */
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

/**
 * Starts a load that sends random bodies of this list. The bodies are written to a file in the
 * folder.
 */
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

/**
 * Returns the whole number that follows one of the names; returns -1 if there is none before `end`.
 */
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

/** A connection that sends a request, and reports when its answer is complete. */
class Connection {
  /** The number of the request in flight. */
  request = 0;
  height = 0;
  readonly #socket: Socket;
  readonly #answered: (connection: Connection) => void;
  /** The number of bytes of the answer's body that have not arrived yet. */
  #missing = 0;
  /** The start of an answer whose headers are not complete yet. */
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

  /** Processes bytes of an answer. The buffer is used again for the next bytes. */
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

/**
 * Sends the requests of a run when they are due. All memory is allocated before the first request.
 */
class Schedule {
  readonly #requests: readonly Buffer[];
  readonly #count: number;
  readonly #intervalMs: number;
  readonly #latenciesMs: Float64Array;
  readonly #waitsMs: Float64Array;
  readonly #heights: Float64Array;
  /**
   * A ring of the connections without a request in flight. The next connection is the one that has
   * been free for the longest time.
   */
  readonly #free: Connection[] = [];
  #freeFrom = 0;
  #freeCount = 0;
  #startMs = 0;
  #next = 0;
  /** The time at which the last request was sent or answered. */
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

  /** Returns the results of all requests but the first `skipped`. */
  results(skipped: number): Omit<RateRun, 'requestsPerSecond'> {
    return {
      startMs: this.#startMs + skipped * this.#intervalMs,
      latenciesMs: this.#latenciesMs.slice(skipped),
      waitsMs: this.#waitsMs.slice(skipped),
      heights: this.#heights.slice(skipped),
    };
  }

  /**
   * Checks the clock in every turn of the event loop, because a timer would be late by up to a
   * millisecond.
   */
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
   * Leaves the core to other programs while another check would be of little use. The pause lasts
   * until the next request is due, but is short while answers are missing. There is no pause if an
   * answer may arrive soon. Without pauses the load would use a whole core, and a server that
   * shares the other core would seem slower than it is.
   */
  #pause(nowMs: number): void {
    const isAnswerSoon = this.#freeCount < CONNECTIONS && nowMs - this.#activeMs < SOON_MS;
    if (isAnswerSoon) return;
    const untilDueMs = this.#msUntilDue(nowMs) - OVERSLEEP_MS;
    const pauseMs = this.#freeCount < CONNECTIONS ? Math.min(PAUSE_MS, untilDueMs) : untilDueMs;
    if (pauseMs > 0) Atomics.wait(NEVER_WOKEN, 0, 0, pauseMs);
  }

  /**
   * Returns the time until the next request is due; returns infinity if no request is left, or no
   * connection is free.
   */
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
