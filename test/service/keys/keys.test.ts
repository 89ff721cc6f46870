import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { KEY_SETTINGS } from '../../../src/access/settings.ts';
import { readSettings } from '../../../src/config/read-settings.ts';
import { UsageError } from '../../../src/config/usage-error.ts';
import {
  askedWrongly,
  createPlaces,
  done,
  failed,
  type Outcome,
  run,
  runShell,
} from '../../../tools/harness/program.ts';
import {
  type Cleanup,
  createKey,
  LIGHT,
  makeLedger,
  type RunningService,
  serveLedger,
  startService,
  until,
} from '../../../tools/harness/running.ts';
import { simulateLines } from '../../../tools/harness/simulated-lines.ts';
import { LONG_ONLY, scale } from '../../scale.ts';

const place = createPlaces();
const lines = simulateLines(30);

/** Within which creating and revoking have to reach every worker. */
const REACH_MS = 100;

interface Made {
  id: string;
  secret: string;
}

function readMade({ code, stdout, stderr }: Outcome): Made {
  assert.equal(code, 0, stderr);
  const [, secret] = /^([A-Za-z0-9_-]{43})\n$/.exec(stdout) ?? [];
  const [, id] =
    /^perpinfo: key ([0-9a-f]{10}): its secret follows on standard output, and is not shown again\n$/.exec(
      stderr,
    ) ?? [];
  assert.ok(secret && id, 'the secret alone on standard output, the rest on standard error');
  return { id, secret };
}

async function create(data: string, ...flags: string[]): Promise<Made> {
  return readMade(await run(['keys', 'create', '--data', data, ...flags]));
}

/** The table that `keys list` prints, without its head. */
async function list(data: string): Promise<string[]> {
  const { code, stdout, stderr } = await run(['keys', 'list', '--data', data]);
  assert.deepEqual({ code, stderr }, { code: 0, stderr: '' });
  const [head, ...rows] = stdout.split('\n').slice(0, -1);
  assert.match(head, /^ID +LABEL +CREATED +LAST USED +BUDGET +EXPIRES +REVOKED +SECRETS$/);
  return rows;
}

function revoke(data: string, name: string): Promise<Outcome> {
  return run(['keys', 'revoke', '--data', data, name]);
}

function readEverything(folder: string): { file: string; bytes: Buffer }[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => path.join(entry.parentPath, entry.name))
    .map((file) => ({ file, bytes: readFileSync(file) }));
}

test('a key is shown once; nothing on the disk holds it, only its SHA-256', async () => {
  const data = place();
  const { secret } = await create(data);
  const bytes = Buffer.from(secret, 'base64url');
  assert.equal(bytes.length, 32);
  const forms = [secret, bytes, bytes.toString('hex'), bytes.toString('base64')];
  const files = readEverything(data);
  assert.ok(files.length > 0);
  for (const file of files) {
    for (const form of forms) assert.ok(!file.bytes.includes(form), `${file.file} holds a secret`);
  }
  const hashed = await crypto.subtle.digest('SHA-256', Buffer.from(secret));
  const hash = Buffer.from(hashed).toString('base64');
  assert.ok(files.some((file) => file.bytes.includes(hash)));
});

test('the list shows each key in a row, oldest first, and never a secret', async () => {
  const data = place();
  const first = await create(data, '--label', 'dashboard', '--budget', '1200/min');
  const second = await create(data, '--expires', '2999-01-31T12:30:00Z');
  const rows = await list(data);
  const time = String.raw`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ`;
  assert.equal(rows.length, 2);
  assert.match(
    rows[0],
    new RegExp(
      `^${first.id}  dashboard  ${time}  never      1200/min  never +no +${first.id}\\.1$`,
    ),
  );
  assert.match(
    rows[1],
    new RegExp(
      `^${second.id} +${time}  never      none      2999-01-31T12:30:00Z  no +${second.id}\\.1$`,
    ),
  );
  for (const { secret } of [first, second]) assert.ok(!rows.join('\n').includes(secret));
});

test('a label that was stored before labels were checked cannot write to the terminal', async () => {
  const data = place();
  const { id } = await createKey(data, { label: 'red \x1b[31m\r\nID  forged\x07\x9b2J' });
  const [row, ...others] = await list(data);
  assert.deepEqual(others, []);
  assert.ok(row.startsWith(`${id}  red  [31m  ID  forged  2J  `), JSON.stringify(row));
});

const BUDGET_EXPECTED =
  'expected WEIGHT/s, WEIGHT/min or WEIGHT/h with a weight from 20 to 1000000000';

test('bad terms are refused in one line, all at once', async () => {
  const data = place();
  const terms = ['--label', 'x'.repeat(101), '--budget', '19/s', '--expires', 'soon'];
  const problems = [
    `--label: got "${'x'.repeat(60)}", expected up to 100 characters on one line, without control characters`,
    `--budget: got "19/s", ${BUDGET_EXPECTED}`,
    '--expires: got "soon", expected a future time such as 2027-01-31T00:00:00Z, or 30d, 12h, 45min of up to 6 digits',
  ];
  const outcome = await run(['keys', 'create', '--data', data, ...terms]);
  assert.deepEqual(outcome, askedWrongly(problems.join('; ')));
  assert.ok(!existsSync(data));
});

test('a budget or an expiry of another form is refused', () => {
  const read = (name: 'budget' | 'expires', text: string) => () =>
    readSettings({ [name]: KEY_SETTINGS[name] }, new Map([[name, text]]), {});
  for (const text of ['1200', '0/min', '-5/s', '1.5/s', ' 50/s', '1200/day', '99999999999/h', '']) {
    assert.throws(read('budget', text), UsageError, text);
  }
  const bad = [
    '2020-01-01',
    '2999-02-30',
    '2999-13-01T00:00Z',
    '2999-01-01T25:00Z',
    '0d',
    '1y',
    '',
  ];
  for (const text of bad) assert.throws(read('expires', text), UsageError, text);
  for (const text of ['2999-02-28', '2996-02-29', '2999-12-31T23:59Z', '1min', '30d']) {
    assert.doesNotThrow(read('expires', text));
  }
  // As Date's toISOString writes it.
  const { expires } = read('expires', '2999-01-31T12:30:00.250Z')();
  assert.equal(expires, Date.parse('2999-01-31T12:30:00.250Z'));
});

test('a key has two live secrets at most, and each is revoked by its number', async () => {
  const data = place();
  const { id } = await create(data);
  const again = () => run(['keys', 'create', '--data', data, '--key', id]);
  assert.equal(readMade(await again()).id, id);
  const full = `perpinfo: key ${id} has two live secrets, ${id}.1 and ${id}.2: revoke one first\n`;
  assert.deepEqual(await again(), failed(full));
  assert.deepEqual(await revoke(data, `${id}.2`), done('', `perpinfo: revoked ${id}.2\n`));
  // A number is not given twice: whoever noted ID.2 as gone can rely on it.
  readMade(await again());
  assert.match((await list(data)).join(), new RegExp(`${id}\\.1 ${id}\\.3$`));
  assert.equal((await revoke(data, `${id}.1`)).code, 0);
  assert.equal((await revoke(data, `${id}.3`)).code, 0);
  const time = String.raw`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ`;
  const rows = await list(data);
  assert.equal(rows.length, 1);
  assert.match(rows[0], new RegExp(`^${id} .* never    ${time}$`));
});

test('a key that is not there is neither revoked nor given a secret', LONG_ONLY, async () => {
  const data = place();
  const { id } = await create(data);
  const unknown = failed('perpinfo: there is no key 0123456789\n');
  assert.deepEqual(await revoke(data, '0123456789'), unknown);
  assert.deepEqual(await revoke(data, '0123456789.1'), unknown);
  assert.deepEqual(await run(['keys', 'create', '--data', data, '--key', '0123456789']), unknown);
  assert.deepEqual(await revoke(data, `${id}.7`), failed(`perpinfo: key ${id} has no secret 7\n`));
  assert.equal((await list(data)).length, 1);
});

test('what is no id of a key is bad usage, and not shown back: it may be a secret', async () => {
  const data = place();
  const { id, secret } = await create(data);
  const expected =
    'got a hidden value, expected the id of a key as "keys list" shows it, such as 4f1d22a0c9 or 4f1d22a0c9.1';
  for (const name of [secret, `${id}.1.2`, 'nope']) {
    assert.deepEqual(await revoke(data, name), askedWrongly(`ID: ${expected}`));
  }
  const added = await run(['keys', 'create', '--data', data, '--key', secret]);
  assert.deepEqual(added, askedWrongly(`--key: ${expected}`));
  assert.equal((await list(data)).length, 1);
});

test('a secret that cannot be written is revoked, and said to be', async () => {
  const data = place();
  const { id } = await create(data);
  for (const flags of [`--key ${id}`, '']) {
    const { code, stderr } = await runShell(
      `perpinfo keys create --data "${data}" ${flags} > /dev/full`,
    );
    assert.equal(code, 1);
    assert.match(
      stderr,
      /\nperpinfo: cannot write to standard output \(ENOSPC\): the secret [0-9a-f]{10}\.[12] is revoked\n$/,
    );
  }
  const [row] = await list(data);
  assert.match(row, new RegExp(`^${id} .* ${id}\\.1$`));
});

/** Changes every copy of a text in a file; LMDB may hold pages of earlier transactions. */
function damage(file: string, text: string, change: (byte: number) => number): void {
  const bytes = readFileSync(file);
  let at = bytes.indexOf(text);
  assert.notEqual(at, -1);
  for (; at !== -1; at = bytes.indexOf(text, at + 1)) bytes[at] = change(bytes[at]);
  writeFileSync(file, bytes);
}

test('a damaged record opens nothing, and the other keys work', LONG_ONLY, async (context) => {
  const data = await makeLedger(place(), lines);
  const good = await create(data, '--label', 'good');
  const bad = await create(data, '--label', 'damaged', '--budget', '20/h');
  const file = path.join(data, 'keys', 'data.mdb');
  damage(file, 'damaged', (byte) => byte ^ 1);
  const advice = `in ${file}: restore it from a backup, or revoke the keys and create new ones`;
  const complaint = `the record of key ${bad.id} is damaged ${advice}`;
  const listed = await run(['keys', 'list', '--data', data]);
  assert.deepEqual([listed.code, listed.stderr], [1, `perpinfo: ${complaint}\n`]);
  assert.ok(listed.stdout.includes(good.id) && !listed.stdout.includes(bad.id));

  const service = await startService(context, { data, flags: ['--max-age', '0'] });
  await service.untilCaughtUp(lines.length);
  assert.equal(service.log(complaint).length, 1);
  const client = service.connect();
  assert.equal((await client.ask(good.secret, LIGHT)).status, 200);
  assert.equal((await client.ask(bad.secret, LIGHT)).status, 401);
  assert.equal((await revoke(data, bad.id)).code, 0);
  assert.equal((await list(data)).length, 1);
});

test('keys that have got lost, or a file without any tables, are no empty list', async () => {
  const data = place();
  const { id } = await create(data);
  const file = path.join(data, 'keys', 'data.mdb');
  const sound = readFileSync(file);
  const renamedKey = Buffer.from(sound);
  for (let at = sound.indexOf(id); at !== -1; at = sound.indexOf(id, at + 1)) {
    // As the key of its record: in the JSON a quotation mark follows.
    if (sound[at + id.length] !== 0x22) renamedKey[at] = 0x7e;
  }
  writeFileSync(file, renamedKey);
  const renamed = await run(['keys', 'list', '--data', data]);
  assert.deepEqual([renamed.code, renamed.stderr.includes('keys are missing')], [1, true]);
  // The root of the tables' table, in both of the pages that LMDB begins with.
  for (const page of [0, 4096]) sound.writeBigUInt64LE(2n ** 64n - 1n, page + 136);
  writeFileSync(file, sound);
  const emptied = await run(['keys', 'list', '--data', data]);
  assert.equal(emptied.code, 1);
  assert.ok(emptied.stderr.startsWith(`perpinfo: there are no keys in ${file}: `), emptied.stderr);
});

test('a server notices that its folder of keys was replaced', LONG_ONLY, async (context) => {
  const data = await makeLedger(place(), lines);
  const old = await create(data);
  const other = place();
  const fresh = await create(other);
  const service = await startService(context, { data, flags: ['--max-age', '0'] });
  await service.untilCaughtUp(lines.length);
  renameSync(path.join(data, 'keys'), path.join(data, 'old-keys'));
  renameSync(path.join(other, 'keys'), path.join(data, 'keys'));
  const client = service.connect();
  await until('the new keys', async () => (await client.ask(fresh.secret, LIGHT)).status === 200);
  assert.equal((await client.ask(old.secret, LIGHT)).status, 401);
  const file = path.join(data, 'keys', 'data.mdb');
  const replaced = `${file} was replaced while it was open: the keys of the new file are valid now`;
  await until('the warning', () => service.log(replaced).length === 1);
});

test('a server notices that its folder of keys is gone', LONG_ONLY, async (context) => {
  const data = await makeLedger(place(), lines);
  const { secret } = await create(data);
  const service = await startService(context, { data, flags: ['--max-age', '0'] });
  await service.untilCaughtUp(lines.length);
  const client = service.connect();
  renameSync(path.join(data, 'keys'), path.join(data, 'old-keys'));
  await until('the refusal', async () => (await client.ask(secret, LIGHT)).status === 401);
  const gone = `${path.join(data, 'keys', 'data.mdb')} was removed or moved away while it was open: every key is refused until it is back`;
  await until('the warning', () => service.log(gone).length === 1);
  assert.doesNotMatch(service.program.stdout, /closed database|restore it from a backup/);
  renameSync(path.join(data, 'old-keys'), path.join(data, 'keys'));
  await until('the keys', async () => (await client.ask(secret, LIGHT)).status === 200);
});

async function serveWithWorkers(
  context: Cleanup,
): Promise<{ data: string; service: RunningService }> {
  const data = await makeLedger(place(), lines);
  const service = await startService(context, {
    data,
    workers: scale(2, 2, 4),
    flags: ['--max-age', '0'],
  });
  await service.untilCaughtUp(lines.length);
  return { data, service };
}

/** What many connections, spread over all workers, are told. */
async function askEverywhere(service: RunningService, secret: string): Promise<Set<number>> {
  const clients = Array.from({ length: 12 }, () => service.connect());
  const answers = await Promise.all(clients.map((client) => client.ask(secret, LIGHT)));
  return new Set(answers.map(({ status }) => status));
}

test('keys come and go on a running server with several workers', LONG_ONLY, async (context) => {
  const { data, service } = await serveWithWorkers(context);
  assert.deepEqual(await askEverywhere(service, 'x'.repeat(43)), new Set([401]));
  const first = await create(data);
  await sleep(REACH_MS);
  assert.deepEqual(await askEverywhere(service, first.secret), new Set([200]));

  const second = await create(data, '--key', first.id);
  await sleep(REACH_MS);
  assert.deepEqual(await askEverywhere(service, first.secret), new Set([200]));
  assert.deepEqual(await askEverywhere(service, second.secret), new Set([200]));

  await revoke(data, `${first.id}.1`);
  await sleep(REACH_MS);
  assert.deepEqual(await askEverywhere(service, first.secret), new Set([401]));
  assert.deepEqual(await askEverywhere(service, second.secret), new Set([200]));

  await revoke(data, first.id);
  await sleep(REACH_MS);
  assert.deepEqual(await askEverywhere(service, second.secret), new Set([401]));
});

test('a key is refused from the moment it expires', LONG_ONLY, async (context) => {
  const data = await makeLedger(place(), lines);
  const expiresMs = Date.now() + 3000;
  const { secret } = await createKey(data, { expiresMs });
  const service = await startService(context, { data, flags: ['--max-age', '0'] });
  await service.untilCaughtUp(lines.length);
  const client = service.connect();
  const before = await client.ask(secret, LIGHT);
  if (Date.now() < expiresMs) assert.equal(before.status, 200);
  await sleep(expiresMs - Date.now());
  assert.equal((await client.ask(secret, LIGHT)).status, 401);
});

test('the list tells when a key was last used', async (context) => {
  const { data, secret, service } = await serveLedger(context, lines);
  const fromMs = Date.now();
  await service.connect().ask(secret, LIGHT);
  const toMs = Date.now();
  await service.stop();
  const [row] = await list(data);
  const usedMs = Date.parse(row.split(/ {2,}/)[3]);
  assert.ok(usedMs >= fromMs - 1000 && usedMs <= toMs, row);
});
