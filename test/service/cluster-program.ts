/**
 * A cluster of one worker that listens on a port of this machine: `watched` or not by HandedConnections. The
 * first process prints port and process id once the worker listens, and a line for each connection that it has
 * handed over.
 */

import cluster, { type Worker } from 'node:cluster';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { HandedConnections } from '../../src/service/supervisor/handed-connections.ts';

type Send = (message: { readonly act?: unknown }, ...rest: unknown[]) => boolean;

function printHanded({ process: child }: Worker): void {
  const send = child.send.bind(child) as Send;
  child.send = ((message, ...rest) => {
    const isSent = send(message, ...rest);
    if (message.act === 'newconn') process.stdout.write('handed\n');
    return isSent;
  }) satisfies Send as typeof child.send;
}

async function runFirst(isWatched: boolean): Promise<void> {
  const handed = new HandedConnections();
  const worker = cluster.fork();
  printHanded(worker);
  if (isWatched) handed.watch(worker);
  worker.on('exit', () => {
    if (isWatched) handed.closeOf(worker);
  });
  const [{ port }] = await once(worker, 'listening');
  process.stdout.write(`${JSON.stringify({ port, pid: worker.process.pid })}\n`);
  // Without a worker, the process goes on for as long as its test.
  process.stdin.resume();
}

if (cluster.isPrimary) await runFirst(process.argv[2] === 'watched');
else createServer((socket) => socket.end('answered')).listen(0, '127.0.0.1');
