/**
 * Replaces the system of the code that runs in this process by a kernel: clocks, timers, random
 * bytes, process ids and, below one folder, files. The code is the same as in the product, and does
 * not notice the replacement.
 */

import crypto from 'node:crypto';
import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import net from 'node:net';
import os from 'node:os';
import timers from 'node:timers/promises';
import { type Kernel, START_TIME_MS } from './kernel.ts';
import type { SimulatedFiles } from './simulated-files.ts';
import { replaceFileFunctions } from './virtual-files.ts';

export interface SimulatedSystem {
  readonly kernel: Kernel;
  /** The files of the machine on which the current process runs. */
  readonly files: SimulatedFiles;
  /** Opens a connection to a server on the simulated network; absent if there is no network. */
  connect?(port: number, host: string, connected: () => void): unknown;
}

let running: SimulatedSystem | undefined;

/** Returns the system of the code that runs now. */
function systemNow(): SimulatedSystem {
  if (running === undefined) throw new Error('no simulation is running');
  return running;
}

/** Runs the work on a simulated system. Calls must not overlap. */
export async function onSystem<T>(system: SimulatedSystem, work: () => Promise<T>): Promise<T> {
  install();
  running = system;
  try {
    return await work();
  } finally {
    running = undefined;
  }
}

let isInstalled = false;

function install(): void {
  if (isInstalled) return;
  isInstalled = true;
  replaceClocks();
  replaceTimers();
  replaceRandom();
  replaceProcess();
  replaceConnections();
  replaceFileFunctions(() => running?.files);
  syncBuiltinESMExports();
}

function replaceClocks(): void {
  const realDate = Date.now;
  const realNow = performance.now.bind(performance);
  const now = () => (running === undefined ? realDate() : running.kernel.clockMs);
  Object.defineProperty(Date, 'now', { value: now });
  globalThis.Date = new Proxy(Date, {
    construct: (target, values, newTarget) =>
      Reflect.construct(target, values.length === 0 ? [now()] : values, newTarget),
  });
  // The monotonic clock does not change when the machine's clock is set.
  const steady = () => (running === undefined ? realNow() : running.kernel.nowMs);
  Object.defineProperty(performance, 'now', { value: steady });
}

/** The result of setTimeout and setInterval. */
class Timer {
  cancel: () => void = () => undefined;

  ref(): this {
    return this;
  }

  unref(): this {
    return this;
  }
}

type Callback = (...values: unknown[]) => void;

function replaceTimers(): void {
  const real = { ...pickTimers(), sleep: timers.setTimeout, nextTurn: timers.setImmediate };
  const once = (callback: Callback, delayMs = 0, ...values: unknown[]) => {
    if (running === undefined) return real.setTimeout(callback, delayMs, ...values);
    const timer = new Timer();
    timer.cancel = running.kernel.schedule(delayMs, () => callback(...values));
    return timer;
  };
  const repeatedly = (callback: Callback, delayMs = 1, ...values: unknown[]) => {
    if (running === undefined) return real.setInterval(callback, delayMs, ...values);
    const timer = new Timer();
    const again = () => {
      timer.cancel = systemNow().kernel.schedule(delayMs, () => {
        again();
        callback(...values);
      });
    };
    again();
    return timer;
  };
  const clear = (realClear: (timer: never) => void) => (timer: unknown) => {
    if (timer instanceof Timer) timer.cancel();
    else realClear(timer as never);
  };
  const soon = (callback: Callback, ...values: unknown[]) =>
    running === undefined ? real.setImmediate(callback, ...values) : once(callback, 0, ...values);
  Object.assign(globalThis, {
    setTimeout: once,
    setInterval: repeatedly,
    setImmediate: soon,
    clearTimeout: clear(real.clearTimeout),
    clearInterval: clear(real.clearInterval),
    clearImmediate: clear(real.clearImmediate),
  });
  Object.assign(timers, {
    setTimeout: (delayMs?: number, value?: unknown, options?: { signal?: AbortSignal }) =>
      running === undefined
        ? real.sleep(delayMs, value, options)
        : sleepOn(running.kernel, delayMs ?? 1, value, options?.signal),
    setImmediate: (value?: unknown) =>
      running === undefined ? real.nextTurn(value) : sleepOn(running.kernel, 0, value, undefined),
  });
}

function pickTimers() {
  const { setTimeout, setInterval, setImmediate } = globalThis;
  const { clearTimeout, clearInterval, clearImmediate } = globalThis;
  return { setTimeout, setInterval, setImmediate, clearTimeout, clearInterval, clearImmediate };
}

/** Sleeps like node:timers/promises: an aborted wait rejects with an AbortError. */
function sleepOn(
  kernel: Kernel,
  delayMs: number,
  value: unknown,
  signal: AbortSignal | undefined,
): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const abort = () => {
      cancel();
      const error = new Error('The operation was aborted', { cause: signal?.reason });
      reject(Object.assign(error, { name: 'AbortError', code: 'ABORT_ERR' }));
    };
    const cancel = kernel.schedule(delayMs, () => {
      signal?.removeEventListener('abort', abort);
      resolve(value);
    });
    if (signal?.aborted) abort();
    else signal?.addEventListener('abort', abort, { once: true });
  });
}

function replaceRandom(): void {
  const { randomBytes, randomUUID } = crypto;
  const realFraction = Math.random;
  Math.random = () => running?.kernel.random.fraction() ?? realFraction();
  const draw = (count: number) => {
    const { random } = systemNow().kernel;
    return Buffer.from(Array.from({ length: count }, () => random.below(256)));
  };
  Object.assign(crypto, {
    randomBytes: (count: number) => (running === undefined ? randomBytes(count) : draw(count)),
    randomUUID: () => (running === undefined ? randomUUID() : draw(16).toString('hex')),
  });
  const fill = globalThis.crypto.getRandomValues.bind(globalThis.crypto);
  const fillDrawn = (bytes: Uint8Array<ArrayBuffer>) => {
    if (running === undefined) return fill(bytes);
    bytes.set(draw(bytes.length));
    return bytes;
  };
  Object.defineProperty(globalThis.crypto, 'getRandomValues', { value: fillDrawn });
}

/** Replaces the hosts, ids and start times of processes that the system reports. */
function replaceProcess(): void {
  const { pid, kill } = process;
  const { hostname } = os;
  os.hostname = () => (running === undefined ? hostname() : running.kernel.current.host);
  const { readFileSync } = fs;
  Object.defineProperty(process, 'pid', {
    get: () => (running === undefined ? pid : running.kernel.current.pid),
  });
  process.kill = (id, signal) => {
    if (running === undefined) return kill.call(process, id, signal);
    if (running.kernel.findProcess(id) !== undefined) return true;
    throw Object.assign(new Error('no such process'), { code: 'ESRCH' });
  };
  Object.assign(fs, {
    readFileSync: (file: string, ...options: []) => {
      const id = running === undefined ? undefined : /^\/proc\/(\d+)\/stat$/.exec(`${file}`)?.[1];
      if (id === undefined) return readFileSync(file, ...options);
      const found = running?.kernel.findProcess(Number(id));
      if (found === undefined) throw Object.assign(new Error('no such file'), { code: 'ENOENT' });
      return `${id} (node) S${' 0'.repeat(18)} ${START_TIME_MS + found.startedMs}`;
    },
  });
}

function replaceConnections(): void {
  const real = net.createConnection as (...values: unknown[]) => unknown;
  const connect = (...values: unknown[]) => {
    if (running === undefined) return real(...values);
    if (running.connect === undefined) throw new Error('no network is simulated');
    const [port, host, connected] = values as [number, string, () => void];
    return running.connect(port, host, connected);
  };
  Object.assign(net, { createConnection: connect });
}
