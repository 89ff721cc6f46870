import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { test } from 'node:test';
import { createPlaces, run } from '../../../tools/harness/program.ts';
import {
  createKey,
  HEAVY,
  LIGHT,
  makeLedger,
  type RunningService,
  startService,
  until,
} from '../../../tools/harness/running.ts';
import { simulateLines } from '../../../tools/harness/simulated-lines.ts';
import { ALSO_LONG, shareOut } from '../../scale.ts';

const place = createPlaces();
const lines = simulateLines(30);

/** What a secret would look like if it came out, plain or in disguise. */
function formsOf(secret: string): string[] {
  const bytes = Buffer.from(secret, 'base64url');
  const encoded = Array.from(secret, (character) => {
    const code = character.charCodeAt(0).toString(16);
    return [`%${code}`, `%${code.toUpperCase()}`];
  });
  return [
    secret,
    // A part of it is a leak as well.
    secret.slice(0, 16),
    secret.slice(-16),
    encoded.map(([lower]) => lower).join(''),
    encoded.map(([, upper]) => upper).join(''),
    Buffer.from(secret).toString('base64'),
    Buffer.from(secret).toString('hex'),
    bytes.toString('base64').replace(/=+$/, ''),
    bytes.toString('hex'),
    bytes.toString('hex').toUpperCase(),
  ];
}

/** Everything that the service has shown to anybody, by where it was seen. */
class Sightings {
  readonly #seen: [where: string, what: string][] = [];

  add(where: string, what: string): void {
    this.#seen.push([where, what]);
  }

  /** Titles, names and arguments, of the process and of all its threads. */
  addProcess(pid: number): void {
    const folders = [
      `/proc/${pid}`,
      ...readdirSync(`/proc/${pid}/task`).map((id) => `/proc/${pid}/task/${id}`),
    ];
    for (const folder of folders) {
      for (const file of ['cmdline', 'comm', 'environ']) {
        if (existsSync(`${folder}/${file}`)) {
          this.add(`${folder}/${file}`, readFileSync(`${folder}/${file}`, 'latin1'));
        }
      }
    }
  }

  assertNoneOf(secrets: readonly string[]): void {
    assert.ok(this.#seen.length > 10);
    for (const [where, what] of this.#seen) {
      for (const secret of secrets) {
        for (const form of formsOf(secret)) assert.ok(!what.includes(form), `${where}: ${form}`);
      }
    }
  }
}

/** Bytes on a socket, and all that comes back. */
async function sendRaw(port: number, bytes: string): Promise<string> {
  const socket = connect(port, '127.0.0.1');
  socket.on('error', () => undefined);
  socket.end(bytes, 'latin1');
  return text(socket).catch(() => '');
}

const JSON_TYPE = { 'Content-Type': 'application/json' };

/** Questions of every kind, most of them wrong, with the secret where clients put it or misplace it. */
async function askEverything(
  service: RunningService,
  secret: string,
  sightings: Sightings,
): Promise<void> {
  const { port } = service;
  const encoded = Array.from(secret, (c) => `%${c.charCodeAt(0).toString(16)}`).join('');
  const post = { method: 'POST', headers: JSON_TYPE, body: JSON.stringify(LIGHT) };
  const info = `/${secret}/info`;
  const asked = [
    { ...post, path: info },
    { ...post, path: `/${encoded}/info/?key=${secret}` },
    { ...post, path: info, body: JSON.stringify(HEAVY) },
    { ...post, path: info, body: JSON.stringify(HEAVY) },
    { ...post, path: info, body: '{' },
    { ...post, path: info, body: '[]' },
    { ...post, path: info, body: 'x'.repeat(70_000) },
    { ...post, path: info, headers: {} },
    { ...post, path: info, headers: { ...JSON_TYPE, 'Ledger-Min-Height': '9999' } },
    { ...post, path: info, headers: { ...JSON_TYPE, Expect: 'a miracle' } },
    { ...post, path: `/${secret.slice(0, -1)}/info` },
    { ...post, path: `${info}/more` },
    { ...post, path: `/${secret}` },
    { ...post, path: `/health/${secret}` },
    { path: info },
    { path: info, method: 'DELETE' },
    { path: info, method: 'OPTIONS' },
    { path: `/health?key=${secret}` },
    { path: `/openapi.json?${secret}` },
    { path: `/?${secret}`, headers: { Authorization: `Bearer ${secret}` } },
  ];
  for (const request of asked) {
    const { body, headers } = await service.once(request);
    sightings.add(`${request.method} ${request.path.length}`, `${JSON.stringify(headers)} ${body}`);
  }
  const raw = [
    `POST ${info} HTTP/1.1\r\n\r\n`,
    `POST ${info} HTTP/9.9\r\nHost: a\r\n\r\n`,
    `POST ${info} HTTP/1.1\r\nHost: a\r\nContent-Length: x\r\n\r\n`,
    `POST ${info} HTTP/1.1\r\nHost: a\r\nX: ${secret}${'x'.repeat(20_000)}\r\n\r\n`,
    `NONSENSE ${info}\r\n\r\n`,
    `CONNECT ${secret}:443 HTTP/1.1\r\nHost: a\r\n\r\n`,
    `POST ${info} HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: 99\r\n\r\n{`,
    `POST http://${secret}/${secret}/info HTTP/1.1\r\nHost: ${secret}\r\n\r\n`,
  ];
  for (const bytes of raw) sightings.add('a raw request', await sendRaw(port, bytes));
}

const ONE_AND_TWO = [
  { workers: 2, lane: [] },
  { workers: 1, lane: ['--no-fast-lane'] },
];

for (const { workers, lane } of shareOut([...ONE_AND_TWO, { workers: 1, lane: [] }], 1)) {
  const about = [workers, ...lane].join(' ');
  test(`no key is in anything that a service of ${about} shows`, ALSO_LONG, async (context) => {
    const data = await makeLedger(place(), lines);
    const live = await createKey(data);
    const budgeted = await createKey(data, { budget: '20/h' });
    const gone = await createKey(data);
    assert.equal((await run(['keys', 'revoke', '--data', data, gone.id])).code, 0);
    const secrets = [live.secret, budgeted.secret, gone.secret];
    const flags = ['--max-age', '0', '--log-level', 'debug', '--min-height-wait', '10', ...lane];
    const service = await startService(context, { data, workers, flags });
    await service.untilCaughtUp(lines.length);

    const sightings = new Sightings();
    for (const secret of secrets) await askEverything(service, secret, sightings);
    const pids = [service.program.child.pid ?? 0, ...service.workerPids];
    for (const pid of pids) sightings.addProcess(pid);
    sightings.add('the metrics', await service.metrics());
    sightings.add('the health', (await service.once({ path: '/health' })).body);

    // A crash in the middle of requests: the core of a process that falls has a lot to tell.
    // Node's cluster module never closes a connection whose worker dies before it has accepted it.
    const client = service.connect();
    await client.ask(live.secret, LIGHT);
    const broken = client.ask(live.secret, LIGHT, { 'Ledger-Min-Height': '9999' });
    process.kill(service.workerPids[0], workers === 1 ? 'SIGABRT' : 'SIGSEGV');
    await broken.catch(() => undefined);
    if (workers > 1) {
      await until('a replacement', () => service.workerPids.length === workers + 1);
      sightings.addProcess(service.workerPids[workers]);
      sightings.add('the metrics', await service.metrics());
    }
    const { stdout, stderr } = await service.stop();
    sightings.add('standard output', stdout);
    sightings.add('standard error', stderr);
    sightings.assertNoneOf(secrets);
  });
}
