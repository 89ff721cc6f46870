import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { closeSync, constants, openSync, readSync } from 'node:fs';
import type { Writable } from 'node:stream';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { createLog, formatEntry } from '../../../src/service/logging/log.ts';
import { MAIN } from '../../../tools/harness/paths.ts';
import { createPlaces, Program, start } from '../../../tools/harness/program.ts';
import { makeLedger, until } from '../../../tools/harness/running.ts';
import { simulateLines } from '../../../tools/harness/simulated-lines.ts';

const place = createPlaces();
const data = await makeLedger(place(), simulateLines(3));
const FLAGS = ['--data', data, '--port', '0', '--admin-port', '0', '--max-age', '0'];

/** `script` of util-linux gives a program a terminal. */
const hasScript = spawnSync('script', ['--version']).status === 0;
const noScript = hasScript ? false : 'script of util-linux is not installed';
const CLOCK = /^\d\d:\d\d:\d\d /;

/** The service on a terminal; Ctrl-C is typed there. */
function startOnTerminal(flags: readonly string[]): Program {
  const words = [process.execPath, MAIN, 'serve', ...FLAGS, ...flags].map((word) => `'${word}'`);
  return new Program(['script', '-qefc', words.join(' '), '/dev/null']);
}

async function addressIn(program: Program, message: string): Promise<string> {
  const pattern = new RegExp(`info {2}${message} address=(\\S+)`);
  return until(message, () => pattern.exec(program.stdout)?.[1]);
}

for (const workers of ['1', '2']) {
  test(`on a terminal a person reads the log of ${workers}, opens its addresses and sees it stop`, {
    skip: noScript,
  }, async (context) => {
    const program = startOnTerminal(['--host', '0.0.0.0', '--workers', workers]);
    context.after(() => void program.child.kill('SIGKILL'));
    assert.equal((await fetch(`${await addressIn(program, 'listening')}/health`)).status, 200);
    const metrics = await addressIn(program, 'metrics');
    // Until the last worker has come up, not all of them tell theirs.
    await until('all metrics', async () => (await fetch(metrics)).status === 200);
    program.child.stdin.write('\x03');
    const { stdout } = await program.ended;
    const lines = stdout.split('\r\n').slice(0, -1);
    // A second worker may have begun to listen only then.
    const stopping = lines.filter((line) => / info {2}stopping reason="got SIGINT"$/.test(line));
    assert.equal(stopping.length, 1);
    assert.match(lines.at(-1) ?? '', /info {2}stopped$/);
    for (const line of lines) assert.match(line.replace(/^\^C/, ''), CLOCK);
  });
}

test('elsewhere the log is JSON, and says that the service stops and why', async () => {
  const program = start(['serve', ...FLAGS]);
  await program.untilWritten('"msg":"listening"');
  program.child.kill('SIGTERM');
  const { code, stdout } = await program.ended;
  assert.equal(code, 0);
  const entries = stdout
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));
  const stopping = { reason: 'got SIGTERM', msg: 'stopping' };
  const [{ reason, msg }, { msg: last }] = entries.slice(-2);
  assert.deepEqual([{ reason, msg }, last], [stopping, 'stopped']);
});

test('the format of the log can be chosen', async () => {
  const program = start(['serve', ...FLAGS, '--log-format', 'text']);
  const address = await addressIn(program, 'listening');
  program.child.kill('SIGTERM');
  const { stdout } = await program.ended;
  assert.match(stdout, new RegExp(`listening address=${address} host=127.0.0.1 port=\\d+\n`));
});

test('an entry with an error is one line: its message, and no stack', () => {
  const err = { type: 'Error', message: 'block 7 is\nmissing', stack: 'Error: block 7\n    at x' };
  const entry = { level: 60, time: 0, pid: 1, hostname: 'h', err, shown: 'a b', msg: 'it failed' };
  const [, rest] = formatEntry(JSON.stringify(entry)).split(/^.{9}/);
  assert.equal(rest, 'fatal it failed: block 7 is missing shown="a b"\n');
});

const JSON_LOG = { logLevel: 'info', logFormat: 'json' } as const;

test('a log on a full disk ends nothing', async (context) => {
  const fd = openSync('/dev/full', 'w');
  context.after(() => closeSync(fd));
  const log = createLog(JSON_LOG, fd);
  for (let index = 0; index < 3; index++) {
    log.info('listening');
    await sleep(0);
  }
});

/** Standard input of a process, which is a file descriptor that does not block. */
function descriptorOf(input: Writable): number {
  return (input as unknown as { _handle: { fd: number } })._handle.fd;
}

test('a reader that stalls holds nobody up, and gets whole lines once it reads again', async (context) => {
  const reader = spawn('cat');
  context.after(() => void reader.kill());
  const log = createLog(JSON_LOG, descriptorOf(reader.stdin));
  const COUNT = 40_000;
  for (let index = 0; index < COUNT; index++) log.info({ index }, 'line');
  let text = '';
  reader.stdout.setEncoding('utf8').on('data', (piece) => {
    text += piece;
  });
  await until('the buffered lines and another', async () => {
    log.info('another');
    return text.includes('another');
  });
  const entries = text
    .slice(0, text.lastIndexOf('\n'))
    .split('\n')
    .map((line) => JSON.parse(line));
  const indexes = entries.flatMap(({ msg, index }) => (msg === 'line' ? [index] : []));
  assert.deepEqual(indexes, [...indexes.keys()], 'the first lines, in their order');
  assert.ok(indexes.length > 1000 && indexes.length < COUNT, `${indexes.length} lines`);
});

/** A named pipe: both ends can be opened again and again. */
function makePipe(): string {
  const pipe = place('pipe');
  assert.equal(spawnSync('mkfifo', [pipe]).status, 0);
  return pipe;
}

test('the log goes on when a named pipe gets another reader', async (context) => {
  const pipe = makePipe();
  const open = (flags: number) => openSync(pipe, flags | constants.O_NONBLOCK);
  const first = open(constants.O_RDONLY);
  const fd = open(constants.O_WRONLY);
  context.after(() => closeSync(fd));
  const log = createLog(JSON_LOG, fd);
  closeSync(first);
  log.info('nobody reads');
  const second = open(constants.O_RDONLY);
  context.after(() => closeSync(second));
  const buffer = Buffer.alloc(4096);
  const text = await until('the buffered line', () => {
    try {
      return buffer.toString('utf8', 0, readSync(second, buffer)) || undefined;
    } catch (error) {
      assert.equal((error as NodeJS.ErrnoException).code, 'EAGAIN');
      return undefined;
    }
  });
  assert.equal(JSON.parse(text).msg, 'nobody reads');
});
