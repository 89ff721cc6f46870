/** The client of `weights.ts`, in a process of its own: a few connections that ask without a pause. */

import { connect } from 'node:net';
import { isForked } from './child.ts';

export const CLIENT_SCRIPT = import.meta.filename;

export interface ClientTask {
  readonly port: number;
  /** Whole requests, asked in turn. */
  readonly requests: readonly Uint8Array[];
  readonly connections: number;
  /** No further request is sent after this; answers are awaited. */
  readonly seconds: number;
}

export interface ClientRun {
  readonly answered: number;
  /** How often each status came. */
  readonly statuses: Readonly<Record<string, number>>;
  /** Of the first answer. */
  readonly bytes: number;
}

const HEAD_END = '\r\n\r\n';

/** One request in flight, until the time is over. */
function runConnection(task: ClientTask, place: number, note: (response: string) => void) {
  return new Promise<void>((resolve, reject) => {
    const endMs = performance.now() + task.seconds * 1000;
    let next = place;
    let parts: Buffer[] = [];
    let missing = -1;
    const open = () => {
      const socket = connect({ host: '127.0.0.1', port: task.port, noDelay: true });
      const send = () => socket.write(task.requests[next++ % task.requests.length]);
      const finish = () => {
        const response = Buffer.concat(parts).toString('latin1');
        parts = [];
        missing = -1;
        note(response);
        if (performance.now() >= endMs) {
          socket.destroy();
          resolve();
        } else if (/\r\nConnection: close/i.test(response.slice(0, 2000))) {
          socket.destroy();
          open();
        } else send();
      };
      socket.on('error', reject);
      socket.on('connect', send);
      socket.on('data', (bytes) => {
        parts.push(bytes);
        if (missing >= 0) missing -= bytes.length;
        else missing = countMissing(parts);
        if (missing === 0) finish();
      });
    };
    open();
  });
}

/** Bytes of the body that have not come yet; -1 as long as the head has not come whole. */
function countMissing(parts: readonly Buffer[]): number {
  const read = Buffer.concat(parts);
  const end = read.indexOf(HEAD_END);
  if (end < 0) return -1;
  const head = read.toString('latin1', 0, end);
  const length = Number(/\r\nContent-Length: (\d+)/i.exec(head)?.[1] ?? 0);
  return end + HEAD_END.length + length - read.length;
}

async function runTask(task: ClientTask): Promise<ClientRun> {
  const statuses: Record<string, number> = {};
  let answered = 0;
  let bytes = 0;
  const note = (response: string) => {
    const status = response.slice('HTTP/1.1 '.length, 'HTTP/1.1 200'.length);
    statuses[status] = (statuses[status] ?? 0) + 1;
    if (answered === 0) bytes = response.length;
    answered += 1;
  };
  const places = Array.from({ length: task.connections }, (_, place) => place);
  await Promise.all(places.map((place) => runConnection(task, place, note)));
  return { answered, statuses, bytes };
}

if (isForked(CLIENT_SCRIPT)) {
  process.on('message', async (task: ClientTask) => process.send?.(await runTask(task)));
}
