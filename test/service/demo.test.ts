import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdirSync, readdirSync, rmSync, statSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import {
  askedWrongly,
  createPlaces,
  type Outcome,
  Program,
  run,
  start,
} from '../../tools/harness/program.ts';
import { type Cleanup, Client, makeLedger, takePort, until } from '../../tools/harness/running.ts';
import { simulateLines } from '../../tools/harness/simulated-lines.ts';
import { LONG_ONLY } from '../scale.ts';

const place = createPlaces();
const hasCurl = spawnSync('curl', ['--version']).status === 0;
const noCurl = hasCurl ? false : 'curl is not installed here';

/** What the demo prints, for a person to use. */
const PRINTED =
  /^perpinfo demo: a simulated exchange, about ten blocks a second\n\n {2}dashboard (?<address>http:\/\/(?:127\.0\.0\.1|\[::1\]):(?<port>\d+))\/#key=(?<secret>[\w-]{43})&users=(?<users>0x[0-9a-fx,]+)\n {2}endpoint {2}(?<endpoint>\S+)\n {2}clients {3}(?<base>\S+) \(base address; keep the trailing slash\)\n {2}users {5}(?<trader>0x[0-9a-f]{40}) \(trades\)\n {12}(?<staker>0x[0-9a-f]{40}) \(stakes\)\n\n {2}(?<lines>export BASE=.+\n {2}curl .+)\n\nCtrl-C stops it; (?<kept>.+)\.\n$/;

class RunningDemo {
  readonly program: Program;
  readonly temporary: string;
  client = new Client(0);
  address = '';
  secret = '';
  trader = '';
  staker = '';
  lines = '';
  kept = '';

  constructor(flags: readonly string[]) {
    // A folder of its own for temporary files: what is left there was left by this demo.
    this.temporary = place('temporary');
    mkdirSync(this.temporary);
    // A busy machine must not make the demo refuse requests.
    const environment = { TMPDIR: this.temporary, PERPINFO_OVERLOAD_DELAY: '60000' };
    this.program = start(['demo', '--port', '0', ...flags], environment);
  }

  async untilPrinted(): Promise<void> {
    await this.program.untilWritten('Ctrl-C');
    const printed = PRINTED.exec(this.program.stdout)?.groups;
    assert.ok(printed, this.program.stdout);
    const { address, port, secret, users, endpoint, base, trader, staker, lines, kept } = printed;
    const examples = users.split(',');
    assert.deepEqual([examples.includes(trader), examples.includes(staker)], [true, true]);
    assert.equal(new Set(examples).size, examples.length);
    assert.equal(endpoint, `${address}/${secret}/info`);
    assert.equal(base, `${address}/${secret}/`);
    const client = new Client(Number(port));
    Object.assign(this, { address, secret, trader, staker, lines, kept, client });
    await until('the demo to answer', async () => (await this.ask()).height > 0);
  }

  async ask(question: object = { type: 'perpDeployAuctionStatus' }) {
    const { headers, body } = await this.client.ask(this.secret, question);
    return { height: Number(headers['ledger-height'] ?? 0), answer: JSON.parse(body) };
  }

  stop(signal: NodeJS.Signals = 'SIGINT'): Promise<Outcome> {
    this.client.close();
    this.program.child.kill(signal);
    return this.program.ended;
  }
}

async function startDemo(context: Cleanup, ...flags: string[]): Promise<RunningDemo> {
  const demo = new RunningDemo(['--accounts', '40', ...flags]);
  context.after(async () => void (await demo.stop()));
  await demo.untilPrinted();
  return demo;
}

test('the demo prints what a person needs, answers, and leaves nothing behind', async (context) => {
  const demo = await startDemo(context);
  assert.equal(readdirSync(demo.temporary).length, 1);
  const { answer } = await demo.ask({ type: 'clearinghouseState', user: demo.trader });
  assert.ok(answer.assetPositions.length > 0);
  const stakes = await demo.ask({ type: 'delegations', user: demo.staker });
  assert.ok(stakes.answer.length > 0);
  // The first blocks may have none yet.
  const auction = await until('the auction', async () => {
    const told = await demo.ask();
    return told.answer !== null && told;
  });
  assert.equal(auction.answer.durationSeconds, 600);
  await until('the height to advance', async () => (await demo.ask()).height > auction.height + 2);
  assert.equal((await demo.client.send({ path: '/health' })).status, 200);
  assert.equal(demo.kept, 'its data is then deleted');
  const { code, stderr } = await demo.stop('SIGINT');
  assert.deepEqual({ code, stderr }, { code: 0, stderr: '' });
  assert.deepEqual(readdirSync(demo.temporary), []);
});

test('the lines for the shell work when they are pasted', { skip: noCurl }, async (context) => {
  const demo = await startDemo(context);
  const pasted = new Program(['bash', '-c', demo.lines]);
  pasted.child.stdin.end();
  const { code, stdout, stderr } = await pasted.ended;
  assert.deepEqual({ code, stderr }, { code: 0, stderr: '' });
  assert.ok(JSON.parse(stdout).assetPositions?.length > 0, stdout);
});

test('on all addresses of a machine, the printed one opens', LONG_ONLY, async (context) => {
  for (const host of ['0.0.0.0', '::']) {
    const { address } = await startDemo(context, '--host', host);
    assert.equal((await fetch(`${address}/health`)).status, 200, address);
  }
});

test('without the auction its status is null', LONG_ONLY, async (context) => {
  const demo = await startDemo(context, '--no-auction');
  const { height, answer } = await demo.ask();
  assert.equal(answer, null);
  await until('more blocks', async () => (await demo.ask()).height > height + 5);
  assert.equal((await demo.ask()).answer, null);
});

test('the seed decides who trades', LONG_ONLY, async (context) => {
  const seeds = ['a', 'a', 'b'];
  const demos = await Promise.all(seeds.map((seed) => startDemo(context, '--seed', seed)));
  const [first, again, other] = demos.map(({ trader, staker }) => `${trader} ${staker}`);
  assert.equal(again, first);
  assert.notEqual(other, first);
});

test('a demo that is kept goes on where it was, with the same key', LONG_ONLY, async (context) => {
  const data = place();
  const first = await startDemo(context, '--data', data);
  const before = await first.ask();
  assert.equal(first.kept, `its data stays in ${data}`);
  assert.deepEqual(readdirSync(first.temporary), []);
  const busy = await run(['demo', '--port', '0', '--data', data]);
  assert.deepEqual([busy.code, busy.stdout], [1, '']);
  assert.match(busy.stderr, /^perpinfo: another writer, process \d+, has this ledger open\n$/);
  assert.equal((await first.stop('SIGTERM')).code, 0);

  const second = await startDemo(context, '--data', data);
  assert.ok((await second.ask()).height >= before.height);
  assert.equal(second.secret, first.secret);
  assert.equal((await second.stop()).code, 0);
  const file = path.join(data, 'demo-key');
  assert.equal(statSync(file).mode & 0o777, 0o600);

  rmSync(file);
  const third = await startDemo(context, '--data', data);
  assert.notEqual(third.secret, first.secret);
  const old = await third.client.ask(first.secret, { type: 'perpDeployAuctionStatus' });
  assert.equal(old.status, 401);
  assert.equal((await third.stop()).code, 0);
  assert.equal((await run(['verify', '--data', data])).code, 0);
});

test('a ledger that no demo created is left alone', LONG_ONLY, async () => {
  const data = await makeLedger(place(), simulateLines(3));
  const expected = `--data: ${data} holds a ledger that no demo created; choose another folder`;
  assert.deepEqual(await run(['demo', '--port', '0', '--data', data]), askedWrongly(expected));
  // The variable of the real ledger is not the demo's.
  const variables = { PERPINFO_DEMO_DATA: data };
  assert.deepEqual(await run(['demo', '--port', '0'], { variables }), askedWrongly(expected));
});

test('bad settings are told all at once', async () => {
  const outcome = await run([
    'demo',
    '--port',
    '70000',
    '--accounts',
    '3',
    '--seed=',
    '--workers',
    '2',
  ]);
  const problems = [
    '--workers: unknown flag',
    '--port: got "70000", expected a whole number from 0 to 65535',
    '--seed: got "", expected a non-empty text',
    '--accounts: got "3", expected a whole number from 10 to 1000000',
  ];
  assert.deepEqual(outcome, askedWrongly(problems.join('; ')));
});

test('a port that is taken ends the demo, and its folder goes', LONG_ONLY, async (context) => {
  const port = await takePort(context);
  const temporary = place('temporary');
  mkdirSync(temporary);
  const flags = ['--accounts', '40', '--port', `${port}`];
  const { code, stdout, stderr } = await run(['demo', ...flags], {
    variables: { TMPDIR: temporary },
  });
  const complaint = `perpinfo: cannot listen on 127.0.0.1 port ${port} (EADDRINUSE)\n`;
  assert.deepEqual({ code, stdout, stderr }, { code: 1, stdout: '', stderr: complaint });
  assert.deepEqual(readdirSync(temporary), []);
});
