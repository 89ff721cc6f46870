import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { request } from 'node:http';
import { connect } from 'node:net';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { createPlaces, run } from '../../tools/harness/program.ts';
import {
  Client,
  createKey,
  HEAVY,
  LIGHT,
  makeLedger,
  readSamples,
  startService,
  takePort,
  until,
} from '../../tools/harness/running.ts';
import { simulateLines } from '../../tools/harness/simulated-lines.ts';
import { ALSO_LONG, LONG_ONLY, scale, shareOut } from '../scale.ts';

const place = createPlaces();
const lines = simulateLines(30);
const data = await makeLedger(place(), lines);
const { secret } = await createKey(data);
const anyAge = ['--max-age', '0'];
const WORKERS = scale(2, 2, 4);

/** How many processor ticks a process has used: one that answers uses some. */
function ticksOf(pid: number): number {
  // After the name, which is in brackets and may hold anything, come the state and then numbers.
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1)?.split(' ') ?? [];
  return Number(fields[11]) + Number(fields[12]);
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

test('workers share the port, and all of them answer', LONG_ONLY, async (context) => {
  const service = await startService(context, { data, workers: WORKERS, flags: anyAge });
  await service.untilCaughtUp(lines.length);
  const { program, port, workerPids } = service;
  assert.equal(new Set(workerPids).size, WORKERS);
  assert.ok(!workerPids.includes(program.child.pid ?? 0));
  assert.deepEqual(new Set(service.log('listening').map((line) => line.port)), new Set([port]));

  const before = workerPids.map(ticksOf);
  await until('every worker to have worked', async () => {
    const clients = Array.from({ length: 8 }, () => new Client(port));
    const asked = clients.map(async (client) => {
      for (let count = 0; count < 100; count++) {
        assert.equal((await client.ask(secret, LIGHT)).status, 200);
      }
      client.close();
    });
    await Promise.all(asked);
    return workerPids.every((pid, index) => ticksOf(pid) > before[index]);
  });
});

test('a killed worker is replaced while the others answer', LONG_ONLY, async (context) => {
  const service = await startService(context, { data, workers: 3, flags: anyAge });
  await service.untilCaughtUp(lines.length);
  const clients = Array.from({ length: 9 }, () => service.connect());
  const ask = (client: Client) => client.ask(secret, LIGHT).then(({ status }) => status);
  await Promise.all(clients.map(ask));
  const [victim, ...others] = service.workerPids;
  process.kill(victim, 'SIGKILL');
  await until('its end', () => service.log('a worker died').length === 1);
  // Connections to the victim are lost; the others' answer as if nothing had happened.
  const settled = await Promise.allSettled(clients.map(ask));
  const survivors = clients.filter((_, index) => settled[index].status === 'fulfilled');
  assert.ok(survivors.length > 0);
  const replacement = await until('a replacement', async () => {
    assert.deepEqual(new Set(await Promise.all(survivors.map(ask))), new Set([200]));
    return service.workerPids.find((pid) => pid !== victim && !others.includes(pid));
  });
  for (const pid of [...others, replacement]) assert.ok(isAlive(pid));
  await service.untilCaughtUp(lines.length);
  const fresh = Array.from({ length: 9 }, () => ask(service.connect()));
  assert.deepEqual(new Set(await Promise.all(fresh)), new Set([200]));
});

test('a connection handed to a worker that died does not hang', LONG_ONLY, async (context) => {
  const service = await startService(context, { data, workers: 2, flags: anyAge });
  await service.untilCaughtUp(lines.length);
  const [victim, other] = service.workerPids;
  for (const pid of [victim, other]) process.kill(pid, 'SIGSTOP');
  // One is handed to each worker, which does not take it; the others wait for a worker.
  const asked = Array.from({ length: 4 }, () => service.connect().ask(secret, LIGHT));
  const settled = Promise.allSettled(asked);
  await sleep(200);
  process.kill(victim, 'SIGKILL');
  await until('its end', () => service.log('a worker died').length === 1);
  process.kill(other, 'SIGCONT');
  const answered = (await settled).filter(({ status }) => status === 'fulfilled');
  assert.equal(answered.length, asked.length - 1);
});

/** Sends the first part of a request; the answer's status comes once `finish` has sent the rest. */
async function halfAsk(port: number): Promise<{ isOpen(): boolean; finish(): Promise<string> }> {
  const body = JSON.stringify(LIGHT);
  const socket = connect(port, '127.0.0.1');
  const closed = once(socket, 'close');
  let received = '';
  socket.setEncoding('utf8').on('data', (chunk: string) => {
    received += chunk;
  });
  const head = `POST /${secret}/info HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n`;
  const length = `Content-Length: ${body.length}\r\n\r\n`;
  await new Promise((resolve) => socket.write(`${head}${length}${body.slice(0, 10)}`, resolve));
  return {
    isOpen: () => !socket.closed,
    async finish() {
      socket.write(body.slice(10));
      await closed;
      return received.split('\r\n')[0];
    },
  };
}

/** Asks on one new connection after the other, until the service takes no more. */
async function askUntilRefused(port: number): Promise<void> {
  for (;;) {
    const client = new Client(port);
    try {
      await client.ask(secret, LIGHT);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ECONNREFUSED') return;
    } finally {
      client.close();
    }
  }
}

test('a connection that comes with the stop is answered or closed, not held', async (context) => {
  const service = await startService(context, { data, workers: 2, flags: anyAge });
  await service.untilCaughtUp(lines.length);
  const half = await halfAsk(service.port);
  const asking = Array.from({ length: 8 }, () => askUntilRefused(service.port));
  await sleep(200);
  service.program.child.kill('SIGTERM');
  await Promise.all(asking);
  assert.ok(half.isOpen(), 'the others end before the last request does');
  assert.equal(await half.finish(), 'HTTP/1.1 200 OK');
  assert.equal((await service.program.ended).code, 0);
});

/** Long enough that its replay takes a while. */
const LONG_LEDGER_BLOCKS = 2_000;

test('a replacement takes no connection before it can answer', LONG_ONLY, async (context) => {
  const long = await makeLedger(place(), simulateLines(LONG_LEDGER_BLOCKS));
  const key = await createKey(long);
  const service = await startService(context, { data: long, workers: 2, flags: anyAge });
  await service.untilCaughtUp(LONG_LEDGER_BLOCKS);
  const [victim] = service.workerPids;
  process.kill(victim, 'SIGKILL');
  await until('its end', () => service.log('a worker died').length === 1);
  const statuses = new Set<number>();
  await until('the replacement to answer', async () => {
    const client = new Client(service.port);
    statuses.add((await client.ask(key.secret, LIGHT)).status);
    client.close();
    return service.workerPids.length === 3;
  });
  for (let count = 0; count < 20; count++) {
    const client = new Client(service.port);
    statuses.add((await client.ask(key.secret, LIGHT)).status);
    client.close();
  }
  assert.deepEqual([...statuses], [200]);
});

test('workers that are replaced do not give a key its budget again', LONG_ONLY, async (context) => {
  const budgeted = await createKey(data, { budget: '20/h' });
  const service = await startService(context, { data, workers: 2, flags: anyAge });
  await service.untilCaughtUp(lines.length);
  assert.equal((await service.connect().ask(budgeted.secret, HEAVY)).status, 200);
  await sleep(200);
  for (const [index, pid] of service.workerPids.entries()) {
    process.kill(pid, 'SIGKILL');
    await until('its replacement', () => service.workerPids.length === 3 + index);
    await service.untilCaughtUp(lines.length);
  }
  const clients = Array.from({ length: 6 }, () => service.connect());
  const asked = await Promise.all(clients.map((client) => client.ask(budgeted.secret, HEAVY)));
  assert.deepEqual(new Set(asked.map(({ status }) => status)), new Set([429]));
});

test('a stop while a worker is being replaced stops that one too', LONG_ONLY, async (context) => {
  for (const pauseMs of [0, 400]) {
    const service = await startService(context, { data, workers: 2, flags: anyAge });
    process.kill(service.workerPids[0], 'SIGKILL');
    await until('its end', () => service.log('a worker died').length === 1);
    await sleep(pauseMs);
    assert.equal((await service.stop()).code, 0);
  }
});

test('no worker outlives the first process', LONG_ONLY, async (context) => {
  const service = await startService(context, { data, workers: 2, flags: anyAge });
  service.program.child.kill('SIGKILL');
  await until('the workers to end', () => !service.workerPids.some(isAlive));
});

const SIGNALS = shareOut<NodeJS.Signals>(['SIGTERM', 'SIGINT'], 1);

for (const signal of SIGNALS) {
  for (const workers of [1, WORKERS]) {
    test(`${signal} stops ${workers}, after the request in flight`, ALSO_LONG, async (context) => {
      const service = await startService(context, { data, workers, flags: anyAge });
      await service.untilCaughtUp(lines.length);
      const idle = service.connect();
      await idle.ask(secret, LIGHT);
      const body = JSON.stringify(LIGHT);
      const status = new Promise((resolve, reject) => {
        const options = {
          port: service.port,
          path: `/${secret}/info`,
          method: 'POST',
          headers: { 'Content-Type': 'application/json', 'Content-Length': body.length },
        };
        const sent = request(options, (response) => resolve(response.resume().statusCode));
        sent.on('error', reject);
        sent.write(body.slice(0, 10), async () => {
          await sleep(200);
          signalAll(service.program.child.pid, service.workerPids, signal);
          await sleep(200);
          sent.end(body.slice(10));
        });
      });
      assert.equal(await status, 200);
      const { code, stderr } = await service.program.ended;
      assert.deepEqual({ code, stderr }, { code: 0, stderr: '' });
      assert.ok(!service.workerPids.some(isAlive));
    });
  }
}

/** As a terminal or a service manager does: to the whole group of processes. */
function signalAll(first: number | undefined, workers: number[], signal: NodeJS.Signals): void {
  for (const pid of new Set([first ?? 0, ...workers])) process.kill(pid, signal);
}

for (const workers of shareOut([WORKERS, 1], 1)) {
  test(`a port that is taken is named by ${workers}`, ALSO_LONG, async (context) => {
    const port = await takePort(context);
    const serve = (...ports: string[]) =>
      run(['serve', '--data', data, '--workers', `${workers}`, '--log-level', 'warn', ...ports]);
    const taken = await serve('--port', `${port}`, '--admin-port', '0');
    assert.deepEqual([taken.code, taken.stdout], [1, '']);
    const complaint = `perpinfo: cannot listen on 127.0.0.1 port ${port} (EADDRINUSE)\n`;
    assert.ok(taken.stderr.includes(complaint), taken.stderr);
    const admin = await serve('--port', '0', '--admin-port', `${port}`);
    assert.deepEqual([admin.code, admin.stdout, admin.stderr], [1, '', complaint]);
  });
}

/** Begins a request and goes away: there is no status to count. */
async function giveUp(port: number): Promise<void> {
  const socket = connect(port, '127.0.0.1');
  const head = `POST /${secret}/info HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n`;
  await new Promise((resolve) => socket.write(`${head}Content-Length: 9\r\n\r\n{`, resolve));
  await sleep(100);
  socket.resetAndDestroy();
  await sleep(100);
}

test('the metrics count every request once, over all workers', LONG_ONLY, async (context) => {
  const budgeted = await createKey(data, { budget: '20/h' });
  const service = await startService(context, { data, workers: WORKERS, flags: anyAge });
  await service.untilCaughtUp(lines.length);
  const clients = Array.from({ length: 8 }, () => service.connect());
  const asked: Promise<unknown>[] = [];
  for (const client of clients) {
    for (let count = 0; count < 5; count++) asked.push(client.ask(secret, LIGHT));
    asked.push(client.ask(secret, HEAVY));
    asked.push(client.ask(secret, { type: 'nonsense' }));
    asked.push(client.ask('nobody', LIGHT));
    asked.push(client.send({ path: '/nowhere' }));
    asked.push(client.send({ path: '/health' }));
  }
  await Promise.all(asked);
  await clients[0].ask(budgeted.secret, HEAVY);
  await clients[0].ask(budgeted.secret, HEAVY);
  await giveUp(service.port);
  await service.once({ path: '/llms.txt' });

  const samples = readSamples(await service.metrics());
  const requests = [...samples].filter(([name]) => name.startsWith('perpinfo_requests_total'));
  assert.deepEqual(Object.fromEntries(requests), {
    'perpinfo_requests_total{type="clearinghouseState",status="200"}': 40,
    'perpinfo_requests_total{type="perpDeployAuctionStatus",status="200"}': 9,
    'perpinfo_requests_total{type="perpDeployAuctionStatus",status="429"}': 1,
    'perpinfo_requests_total{type="none",status="200"}': 9,
    'perpinfo_requests_total{type="none",status="401"}': 8,
    'perpinfo_requests_total{type="none",status="404"}': 8,
    'perpinfo_requests_total{type="none",status="422"}': 8,
  });
  const exact = {
    perpinfo_budget_refusals_total: 1,
    perpinfo_internal_failures_total: 0,
    perpinfo_ledger_height: lines.length,
    perpinfo_ledger_time_seconds: JSON.parse(lines[lines.length - 1]).time / 1000,
    'perpinfo_request_seconds_count{type="clearinghouseState"}': 40,
    'perpinfo_request_seconds_bucket{le="+Inf",type="clearinghouseState"}': 40,
  };
  for (const [name, value] of Object.entries(exact)) assert.equal(samples.get(name), value, name);
  const present = [
    'perpinfo_ledger_lag_seconds',
    'perpinfo_nodejs_eventloop_lag_seconds',
    'perpinfo_nodejs_eventloop_lag_p99_seconds',
    'perpinfo_process_resident_memory_bytes',
    'perpinfo_nodejs_heap_size_used_bytes',
  ];
  for (const name of present) assert.ok((samples.get(name) ?? -1) >= 0, name);
});
