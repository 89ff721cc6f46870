/** Connections that Node has handed to a worker which dies, in a real cluster of one worker. */

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import type { Worker } from 'node:cluster';
import { EventEmitter, once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { createInterface } from 'node:readline';
import { type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { HandedConnections } from '../../src/service/supervisor/handed-connections.ts';

const PROGRAM = fileURLToPath(new URL('./cluster-program.js', import.meta.url));
/** Much longer than the first process needs to hear of the end of its worker. */
const HANGING_MS = 300;

async function startCluster(context: TestContext, ...words: readonly string[]) {
  const first = spawn(process.execPath, [PROGRAM, ...words], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  context.after(() => void first.kill('SIGKILL'));
  const lines = createInterface(first.stdout)[Symbol.asyncIterator]();
  const { port, pid } = JSON.parse((await lines.next()).value ?? '');
  return { port, pid, untilHanded: () => lines.next() };
}

type Cluster = Awaited<ReturnType<typeof startCluster>>;

/** A connection that was handed to a worker which stands still, and then dies. */
async function connectToDying({ port, pid, untilHanded }: Cluster): Promise<Socket> {
  process.kill(pid, 'SIGSTOP');
  const socket = connect(port, '127.0.0.1').on('error', () => undefined);
  assert.equal((await untilHanded()).value, 'handed');
  process.kill(pid, 'SIGKILL');
  return socket;
}

test('a connection that was handed to a worker is closed when the worker dies', async (t) => {
  const socket = await connectToDying(await startCluster(t, 'watched'));
  socket.resume();
  if (!socket.closed) await once(socket, 'close', { signal: AbortSignal.timeout(20_000) });
});

test('without the hook the connection hangs: Node still forgets it', async (t) => {
  const socket = await connectToDying(await startCluster(t));
  let isClosed = false;
  socket.resume().on('close', () => {
    isClosed = true;
  });
  await sleep(HANGING_MS);
  assert.equal(isClosed, false);
  socket.destroy();
});

test('a connection that the worker takes is answered', async (t) => {
  const { port } = await startCluster(t, 'watched');
  const socket = connect(port, '127.0.0.1');
  const [bytes] = await once(socket, 'data');
  assert.equal(String(bytes), 'answered');
  socket.destroy();
});

test('messages of a form that is not known pass unchanged', () => {
  const sent: unknown[][] = [];
  const child = Object.assign(new EventEmitter(), {
    send: (...values: unknown[]) => sent.push(values) > 0,
  });
  const worker = Object.assign(new EventEmitter(), { process: child }) as unknown as Worker;
  const handed = new HandedConnections();
  handed.watch(worker);
  const handle = { close: () => assert.fail('nothing is known of this connection') };
  assert.equal(child.send({ kind: 'connection' }, handle), true);
  child.emit('internalMessage', { kind: 'taken' });
  handed.closeOf(worker);
  assert.deepEqual(sent, [[{ kind: 'connection' }, handle]]);
});
