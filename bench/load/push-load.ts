/**
 * Sends frames on push connections, from a separate process. Each connection sends the next frame
 * after the answers to the last one, as `request-load.ts` does with requests.
 */

import type { ChildProcess } from 'node:child_process';
import { WebSocket } from 'ws';
import { ask, forkScript, isForked, stopChild } from '../frame/child.ts';
import type { GroupRun } from './request-load.ts';

const SCRIPT = import.meta.filename;
const CONNECTIONS = 8;
const ERROR_FRAME = '{"channel":"error"';
/** The pause after a connection was refused or closed. */
const RECONNECT_MS = 10;

export interface PushStep {
  readonly frame: string;
  /** The number of frames that the server sends as an answer. */
  readonly answers: number;
}

/** Connections that send the same kind of frames, one after the other. */
export interface PushGroup {
  readonly name: string;
  readonly secret: string;
  readonly steps: readonly PushStep[];
  /** The number of connections; 8 by default. */
  readonly connections?: number;
  /** The number of frames in flight on each connection; one by default. */
  readonly ahead?: number;
}

interface Task {
  readonly port: number;
  readonly groups: readonly PushGroup[];
  readonly seconds: number;
}

interface GroupTask extends Omit<Task, 'groups'> {
  readonly group: PushGroup;
}

export class PushLoad {
  readonly #process: ChildProcess = forkScript(SCRIPT);

  run(task: Task): Promise<GroupRun[]> {
    return ask(this.#process, task);
  }

  stop(): Promise<void> {
    return stopChild(this.#process);
  }
}

/** The counters of all connections of a run. */
class Tally {
  readonly statuses = { frame: 0, error: 0, closed: 0 };
  readonly latencies: number[] = [];
  bytes = 0;

  take(data: Buffer): void {
    if (data.length > this.bytes) this.bytes = data.length;
    const isError = data.toString('latin1', 0, ERROR_FRAME.length) === ERROR_FRAME;
    this.statuses[isError ? 'error' : 'frame']++;
  }
}

/** Sends until the end of the run, on one connection after the other. */
async function runConnection(task: GroupTask, tally: Tally, endMs: number): Promise<void> {
  while (performance.now() < endMs) {
    await runSocket(task, tally, endMs);
    if (performance.now() >= endMs - RECONNECT_MS) return;
    tally.statuses.closed++;
    await new Promise((resolve) => setTimeout(resolve, RECONNECT_MS));
  }
}

function runSocket({ port, group }: GroupTask, tally: Tally, endMs: number): Promise<void> {
  const { secret, steps, ahead = 1 } = group;
  const socket = new WebSocket(`ws://127.0.0.1:${port}/${secret}/ws`, { perMessageDeflate: false });
  const waiting: { sentMs: number; missing: number }[] = [];
  let next = 0;
  const send = () => {
    while (waiting.length < ahead && socket.readyState === WebSocket.OPEN) {
      const { frame, answers } = steps[next++ % steps.length];
      waiting.push({ sentMs: performance.now(), missing: answers });
      socket.send(frame);
    }
  };
  return new Promise((resolve) => {
    const end = setTimeout(() => socket.terminate(), endMs - performance.now());
    socket.on('open', send);
    socket.on('error', () => undefined);
    socket.on('close', () => {
      clearTimeout(end);
      resolve();
    });
    socket.on('message', (data: Buffer) => {
      tally.take(data);
      if (waiting.length === 0 || --waiting[0].missing > 0) return;
      tally.latencies.push(performance.now() - waiting[0].sentMs);
      waiting.shift();
      send();
    });
  });
}

async function runGroup(task: GroupTask): Promise<GroupRun> {
  const { name, connections = CONNECTIONS } = task.group;
  const tally = new Tally();
  const startedMs = performance.now();
  const endMs = startedMs + task.seconds * 1000;
  const running = Array.from({ length: connections }, () => runConnection(task, tally, endMs));
  await Promise.all(running);
  const counts = Object.entries(tally.statuses).filter(([, count]) => count > 0);
  return {
    ...{ name, statuses: Object.fromEntries(counts), abandoned: 0, bytes: tally.bytes },
    answered: tally.latencies.length,
    seconds: (performance.now() - startedMs) / 1000,
    latencies: new Float64Array(tally.latencies).sort(),
  };
}

if (isForked(SCRIPT)) {
  process.on('message', async (task: Task) => {
    const { groups, ...shared } = task;
    process.send?.(await Promise.all(groups.map((group) => runGroup({ ...shared, group }))));
  });
}
