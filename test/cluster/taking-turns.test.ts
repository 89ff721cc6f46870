/** Two services on one folder take turns behind nginx, by the commands of docs/guide/restarts.md. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { WebSocket } from 'ws';
import { MAIN } from '../../tools/harness/paths.ts';
import { createPlaces, Program, start } from '../../tools/harness/program.ts';
import { PushClient, type PushedState } from '../../tools/harness/push-client.ts';
import {
  type Cleanup,
  Client,
  createKey,
  LIGHT,
  RunningService,
  until,
} from '../../tools/harness/running.ts';
import { fencedBlocks, readDocument, readSections } from '../docs/documents.ts';
import { findPorts } from './nats-servers.ts';
import { startNginx } from './shipped-files.ts';

const place = createPlaces();
const BLOCK_MS = 20;
const ASK_MS = 2;
const ASKED_BETWEEN = 100;
const RUN_MS_MAX = 120_000;
/** The archive has it long before the first restart. */
const PAST_HEIGHT = 2;

/** Blocks come all the time. */
class Feed {
  readonly #append: Program;
  #height = 0;
  #isOver = false;

  constructor(data: string) {
    this.#append = start(['append', '--data', data], {}, RUN_MS_MAX);
  }

  async run(): Promise<void> {
    while (!this.#isOver) {
      const block = { height: ++this.#height, time: Date.now(), events: [] };
      this.#append.child.stdin.write(`${JSON.stringify(block)}\n`);
      await sleep(BLOCK_MS);
    }
    this.#append.child.stdin.end();
    assert.equal((await this.#append.ended).code, 0, this.#append.stderr);
  }

  get acknowledged(): number {
    return this.#append.acknowledged;
  }

  stop(): void {
    this.#isOver = true;
  }
}

const [START, RESTART] = fencedBlocks(
  readSections(readDocument('docs/guide/restarts.md'), 2).get('Restart without a gap') ?? '',
  'sh',
);

/** There may be no curl; it fails as curl -f does. */
const CURL =
  `curl() { "${process.execPath}" -e ` +
  `'fetch(process.argv[2]).then((r) => process.exit(r.ok ? 0 : 22), () => process.exit(7))' -- "$@"; }`;

/** A shell in which the commands are given, on other ports and another folder. */
class Shell extends RunningService {
  readonly #changes: Readonly<Record<string, string>>;

  constructor(data: string, ports: readonly number[]) {
    const variables = { PERPINFO_ARCHIVE: 'true', PERPINFO_OVERLOAD_DELAY: '60000' };
    super(new Program(['bash'], variables, RUN_MS_MAX));
    const [first, second, firstAdmin, secondAdmin] = ports.map(String);
    this.#changes = {
      'node bin/perpinfo.js': `"${process.execPath}" "${MAIN}"`,
      './data': data,
      ...{ 8081: first, 8082: second, 9481: firstAdmin, 9482: secondAdmin },
    };
    this.program.child.stdin.write(`${CURL}\n`);
  }

  /** Resolves when the shell has done it all. */
  async give(commands: string): Promise<void> {
    let given = commands;
    for (const [shown, used] of Object.entries(this.#changes)) {
      given = given.replaceAll(shown, used);
    }
    const { stdout } = this.program;
    const end = `done ${stdout.length}`;
    this.program.child.stdin.write(`${given}\necho "${end}"\n`);
    await this.program.untilWritten(`${end}\n`);
  }
}

/** The services, without the feed and the proxy, which the test starts. */
const START_SERVICE = START.split('\n')
  .filter((line) => /serve|first=/.test(line))
  .join('\n');

/** As the page says: the places are exchanged. */
function exchange(commands: string): string {
  const pairs = { 8081: '8082', 8082: '8081', 9481: '9482', 9482: '9481' };
  const names = { first: 'second', second: 'first' };
  const others: Record<string, string> = { ...pairs, ...names };
  return commands.replaceAll(/808[12]|948[12]|first|second/g, (word) => others[word]);
}

/** What all clients together have seen. */
class Seen {
  readonly faults: string[] = [];
  count = 0;
  height = 0;
  isOver = false;

  /** Asks one question after the other; a failed request is a fault. */
  async ask(port: number, secret: string, question: object): Promise<void> {
    const client = new Client(port);
    while (!this.isOver) {
      const least = this.height;
      try {
        const answer = await client.ask(secret, question, { 'Ledger-Min-Height': least });
        const height = Number(answer.headers['ledger-height']);
        if (answer.status !== 200) this.faults.push(`${answer.status} ${answer.body}`);
        else if ('atHeight' in question) assert.equal(height, PAST_HEIGHT);
        else this.#note(height, least);
      } catch (error) {
        this.faults.push(String(error));
      }
      this.count++;
      await sleep(ASK_MS);
    }
    client.close();
  }

  #note(height: number, least: number): void {
    if (height < least) this.faults.push(`height ${height} after ${least}`);
    this.height = Math.max(this.height, height);
  }

  async untilAsked(count: number): Promise<void> {
    const end = this.count + count;
    await until(`${count} answers`, () => this.count >= end);
  }
}

async function openPush(context: Cleanup, port: number, secret: string): Promise<PushClient> {
  const socket = new WebSocket(`ws://127.0.0.1:${port}/${secret}/ws`);
  context.after(() => socket.terminate());
  const client = new PushClient(socket);
  await new Promise((resolve, reject) => {
    socket.once('open', resolve);
    socket.once('error', reject);
  });
  client.subscribe(LIGHT);
  return client;
}

async function untilPushed(client: PushClient, least: number): Promise<void> {
  for (;;) {
    const { channel, data } = await client.nextFrame();
    if (channel === LIGHT.type && (data as PushedState).height >= least) return;
  }
}

test('two services on one folder take turns, and no client sees a gap', async (context) => {
  const data = place();
  const feed = new Feed(data);
  const feeding = feed.run();
  await until('blocks', () => feed.acknowledged > PAST_HEIGHT);
  const { secret } = await createKey(data);
  const [port, ...ports] = await findPorts(5);
  const shell = new Shell(data, ports);
  context.after(async () => {
    shell.program.child.stdin.end('kill $(jobs -p); wait\n');
    await shell.program.ended;
  });
  const nginx = startNginx({
    ...{ file: 'machine/nginx.conf', folder: place(), port },
    servers: {
      '127.0.0.1:8081': `127.0.0.1:${ports[0]}`,
      '127.0.0.1:8082': `127.0.0.1:${ports[1]}`,
    },
  });
  context.after(async () => {
    nginx.child.kill('SIGTERM');
    await nginx.ended;
  });
  await shell.give(START_SERVICE);
  const client = new Client(port);
  const past = { ...LIGHT, atHeight: PAST_HEIGHT };
  await until('an answer about the past', async () => {
    // Refused while nginx starts.
    const answer = await client.ask(secret, past).catch(() => undefined);
    return answer?.status === 200;
  });

  await context.test('a refusal reaches the client although the other does not run', async () => {
    const { status, body } = await client.ask(secret, LIGHT, { 'Ledger-Min-Height': 1e9 });
    assert.deepEqual([status, JSON.parse(body).error], [503, 'behind']);
  });
  client.close();

  const seen = new Seen();
  const asking = [LIGHT, LIGHT, LIGHT, past].map((question) => seen.ask(port, secret, question));
  let push = await openPush(context, port, secret);
  await untilPushed(push, 1);
  for (const commands of [RESTART, exchange(RESTART), RESTART]) {
    await seen.untilAsked(ASKED_BETWEEN);
    const endings = shell.log('stopped').length;
    await shell.give(commands);
    assert.equal((await push.untilClosed()).code, 1001);
    push = await openPush(context, port, secret);
    await untilPushed(push, seen.height);
    await until('the end of the earlier service', () => shell.log('stopped').length > endings);
    await seen.untilAsked(ASKED_BETWEEN);
  }
  seen.isOver = true;
  await Promise.all(asking);
  assert.deepEqual(seen.faults, []);
  assert.equal(shell.log('listening').length, 4);
  assert.doesNotMatch(nginx.stdout + nginx.stderr, new RegExp(secret));
  feed.stop();
  await feeding;
});
