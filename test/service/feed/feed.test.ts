/** `serve --feed -`: blocks from standard input, appended by the service that answers. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  createPlaces,
  joinLines,
  type Program,
  run,
  start,
  succeed,
} from '../../../tools/harness/program.ts';
import { type Cleanup, Client, createKey, LIGHT, until } from '../../../tools/harness/running.ts';
import { simulateLines } from '../../../tools/harness/simulated-lines.ts';
import { LONG_ONLY } from '../../scale.ts';

const place = createPlaces();
const lines = simulateLines(60);

interface FedService {
  readonly program: Program;
  readonly data: string;
  readonly secret: string;
  readonly client: Client;
  health(): Promise<{ status: string; message: string; height: number }>;
}

/** The log of a service that is fed is on standard error. */
function readLog(program: Program): { msg: string; port: number }[] {
  const entries = program.stderr.split('\n').filter((line) => line.startsWith('{'));
  return entries.map((line) => JSON.parse(line));
}

async function startFed(context: Cleanup, { workers = 1, input = '' } = {}): Promise<FedService> {
  const data = place();
  const { secret } = await createKey(data);
  const flags = ['--feed', '-', '--workers', `${workers}`, '--port', '0', '--admin-port', '0'];
  const program = start(['serve', '--data', data, '--max-age', '0', ...flags]);
  program.child.stdin.write(input);
  const entry = await until('every worker to listen', () => {
    const listening = readLog(program).filter(({ msg }) => msg === 'listening');
    return listening.length >= workers && listening[0];
  });
  const client = new Client(entry.port);
  context.after(async () => {
    client.close();
    program.child.kill('SIGTERM');
    await program.ended;
  });
  const health = async () => JSON.parse((await client.send({ path: '/health' })).body);
  return { program, data, secret, client, health };
}

async function stop({ program, client }: FedService): Promise<number | null> {
  client.close();
  program.child.kill('SIGTERM');
  return (await program.ended).code;
}

test('a service that is fed answers from the blocks, acknowledges them, and goes on after the last', async (context) => {
  const fed = await startFed(context, { workers: 2, input: joinLines(lines.slice(0, 20)) });
  const { program, client, secret, data } = fed;
  await program.untilWritten('durable 20\n');
  program.child.stdin.write(joinLines(lines.slice(20, 40)));
  await program.untilWritten('durable 40\n');
  // On a busy machine a worker may take longer than a question waits for its height.
  const answer = await until('height 40', async () => {
    const asked = await client.ask(secret, LIGHT, { 'Ledger-Min-Height': 40 });
    return asked.status === 200 && asked;
  });
  assert.equal(answer.headers['ledger-height'], '40');
  assert.match(program.stdout, /^(durable \d+\n)+$/);
  const beside = await run(['append', '--data', data], { input: joinLines(lines.slice(40)) });
  assert.match(beside.stderr, /another writer, process \d+, has this ledger open/);

  program.child.stdin.end();
  const ended = 'the feed has ended; the service keeps answering';
  await until('its end', () => readLog(program).some(({ msg }) => msg === ended));
  // The writer's place is free for whoever brings the next blocks.
  await succeed(['append', '--data', data], { input: joinLines(lines.slice(40)) });
  const later = await client.ask(secret, LIGHT, { 'Ledger-Min-Height': 60 });
  assert.equal(later.status, 200);
  assert.equal((await fed.health()).status, 'ok');
  assert.equal(await stop(fed), 0);
});

test('a bad block ends the feed, not the answers, and is named', LONG_ONLY, async (context) => {
  const bad = '{"height":21}\n';
  const fed = await startFed(context, { input: joinLines(lines.slice(0, 20)) });
  const { program, client, secret, data } = fed;
  await program.untilWritten('durable 20\n');
  program.child.stdin.write(bad);
  const reason = /^line 21: block 21: time: got nothing, expected a whole number/;
  const failed = await until('the failure', async () => {
    const health = await fed.health();
    return health.status === 'feed_failed' && health;
  });
  assert.match(failed.message.replace('the feed has failed: ', ''), reason);
  assert.equal((await client.send({ path: '/health' })).status, 503);
  assert.equal((await client.ask(secret, LIGHT)).status, 200);
  // Whoever feeds is told by its pipe.
  await until('a broken pipe', () => {
    if (!program.child.stdin.destroyed) program.child.stdin.write(joinLines(lines));
    return program.child.stdin.destroyed;
  });

  await succeed(['append', '--data', data], { input: joinLines(lines.slice(20, 30)) });
  await until('health', async () => (await fed.health()).status === 'ok');
  assert.equal(await stop(fed), 1);
  assert.match(program.stderr.split('\n').at(-2)?.replace('perpinfo: ', '') ?? '', reason);
});

test('a service stopped during a feed keeps what it acknowledged', LONG_ONLY, async (context) => {
  const long = simulateLines(2000);
  const fed = await startFed(context, { input: joinLines(long.slice(0, 200)) });
  const { program, data } = fed;
  program.child.stdin.write(joinLines(long.slice(200)));
  await program.untilWritten('durable 200\n');
  assert.equal(await stop(fed), 0);
  const verified = await succeed(['verify', '--data', data]);
  const height = Number(/^height (\d+)$/m.exec(verified.stdout)?.[1]);
  assert.equal(height, program.acknowledged);
  // Nobody holds the writer's place.
  await succeed(['append', '--data', data], { input: joinLines(long.slice(height)) });
});

test('--feed takes standard input and nothing else', async () => {
  const { code, stderr } = await run(['serve', '--data', place(), '--feed', 'blocks.ndjson']);
  assert.equal(code, 2);
  assert.equal(stderr, 'perpinfo: --feed: got "blocks.ndjson", expected -, standard input\n');
});
