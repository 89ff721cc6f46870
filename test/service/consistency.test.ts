import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { formatAddress } from '../../src/exact/address.ts';
import { answerQuestion } from '../../src/info/read-question.ts';
import { openEmbeddedLedgerWriter } from '../../src/ledger/embedded/embedded-writer.ts';
import { nextBlock } from '../../src/ledger/hash-chain.ts';
import { createSimulator, type Simulator } from '../../src/simulator/simulator.ts';
import { restoreDirectory } from '../../tools/harness/data-directory.ts';
import { createPlaces, type Program, run, start } from '../../tools/harness/program.ts';
import {
  type Answer,
  type Cleanup,
  type Client,
  createKey,
  LIGHT,
  makeLedger,
  readSamples,
  serveLedger,
  startService,
  until,
} from '../../tools/harness/running.ts';
import { simulateLines } from '../../tools/harness/simulated-lines.ts';
import { openRawBlocks } from '../replica/damage.ts';
import { longLine } from '../replica/long-line.ts';
import { SMALL_LINES } from '../replica/small-ledger.ts';
import { ALSO_LONG, LONG_ONLY, scale, shareOut } from '../scale.ts';

const place = createPlaces();

/** About twenty blocks a second. */
const INTERVAL_MS = 50;

/** A feed that somebody pipes into `perpinfo append`, until it is told to stop. */
class LiveFeed {
  readonly #append: Program;
  readonly #simulator: Simulator;
  #isOver = false;

  constructor(data: string, simulator: Simulator) {
    this.#simulator = simulator;
    this.#append = start(['append', '--data', data, '--snapshot-every', '25']);
  }

  write(): void {
    this.#append.child.stdin.write(`${this.#simulator.next(Date.now())}\n`);
  }

  async run(): Promise<void> {
    while (!this.#isOver) {
      this.write();
      await sleep(INTERVAL_MS);
    }
  }

  async stop(): Promise<void> {
    this.#isOver = true;
    this.#append.child.stdin.end();
    assert.equal((await this.#append.ended).code, 0, this.#append.stderr);
  }

  get height(): number {
    return this.#append.acknowledged;
  }
}

/** A feed on a new ledger, with its exchange ready to trade. */
async function startFeed(context: Cleanup, data: string): Promise<LiveFeed> {
  const simulator = createSimulator({ seed: 'live', accounts: 30 });
  const feed = new LiveFeed(data, simulator);
  context.after(() => feed.stop());
  do feed.write();
  while (!simulator.isSetUp);
  const { height } = simulator.state;
  await until('the start to be durable', () => feed.height >= height);
  return feed;
}

/** How often each client asks. */
const ASKED_COUNT = scale(50, 200, 400);
const ASKED_MAX = 10 * ASKED_COUNT;
/** On each connection; a slow writer only makes it ask longer. */
const HEIGHTS_MIN = 10;

interface Sample {
  question: object;
  height: number;
  body: string;
}

function countHeights(samples: readonly Sample[]): number {
  return new Set(samples.map(({ height }) => height)).size;
}

/** Asks on one connection, until enough and at enough heights; the heights must never go back. */
async function askOn(client: Client, secret: string, questions: object[]): Promise<Sample[]> {
  const samples: Sample[] = [];
  let height = 0;
  const isEnough = (asked: number) => asked >= ASKED_COUNT && countHeights(samples) > HEIGHTS_MIN;
  for (let asked = 0; asked < ASKED_MAX && !isEnough(asked); asked++) {
    const question = questions[asked % questions.length];
    const answer = await client.ask(secret, question);
    assert.equal(answer.status, 200, answer.body);
    const answeredAt = Number(answer.headers['ledger-height']);
    assert.ok(answeredAt >= height, `height ${answeredAt} after ${height}`);
    height = answeredAt;
    if (asked % 16 === 0) samples.push({ question, height, body: answer.body });
    await sleep(5);
  }
  return samples;
}

test('under load heights never go back, and match query --at', LONG_ONLY, async (context) => {
  const data = place();
  const feed = await startFeed(context, data);
  const { secret } = await createKey(data);
  const service = await startService(context, { data, workers: 2 });
  await service.untilCaughtUp(feed.height);
  const { state } = (await restoreDirectory(data)).replica;
  const users = Array.from({ length: 12 }, (_, index) =>
    formatAddress(state.addresses.addressOf(index + 1)),
  );
  const questions = [
    ...users.map((user) => ({ type: 'clearinghouseState', user })),
    ...users.map((user) => ({ type: 'delegations', user })),
    { type: 'perpDeployAuctionStatus' },
  ];
  const running = feed.run();
  const clients = Array.from({ length: 6 }, () => service.connect());
  const asked = clients.map((client, index) =>
    askOn(client, secret, [...questions.slice(index), ...questions.slice(0, index)]),
  );
  const samples = (await Promise.all(asked)).flat();
  await feed.stop();
  await running;

  const heights = new Set(samples.map(({ height }) => height));
  assert.ok(heights.size > HEIGHTS_MIN, `${heights.size} heights were seen`);
  for (const height of heights) {
    const { replica } = await restoreDirectory(data, height);
    for (const sample of samples.filter((one) => one.height === height)) {
      assert.equal(sample.body, answerQuestion(replica.state, sample.question));
    }
  }
  const [{ question, height, body }] = samples;
  const query = ['query', '--data', data, '--at', `${height}`, JSON.stringify(question)];
  assert.equal((await run(query)).stdout, `${body}\n`);
});

test('during a long block, an answer is of one height or the next', LONG_ONLY, async (context) => {
  const lines = simulateLines(60);
  const { data, secret, service } = await serveLedger(context, lines);
  const { state } = (await restoreDirectory(data)).replica;
  const users = Array.from({ length: 8 }, (_, index) =>
    formatAddress(state.addresses.addressOf(index + 1)),
  );
  const questions = users.map((user) => ({ type: 'clearinghouseState', user }));
  const samples: Sample[] = [];
  const askUntilThere = async (client: Client) => {
    for (let height = 0; height <= lines.length; ) {
      for (const question of questions) {
        const { status, headers, body } = await client.ask(secret, question);
        assert.equal(status, 200, body);
        assert.ok(Number(headers['ledger-height']) >= height);
        height = Number(headers['ledger-height']);
        samples.push({ question, height, body });
      }
    }
  };
  const asking = [1, 2, 3, 4].map(() => askUntilThere(service.connect()));
  await makeLedger(data, [longLine(state, 5000)]);
  await Promise.all(asking);

  for (const height of [lines.length, lines.length + 1]) {
    const { replica } = await restoreDirectory(data, height);
    const ofHeight = samples.filter((one) => one.height === height);
    assert.ok(ofHeight.length > 0, `no answer of height ${height}`);
    for (const { question, body } of ofHeight) {
      assert.equal(body, answerQuestion(replica.state, question));
    }
  }
  const heights = new Set(samples.map(({ height }) => height));
  assert.deepEqual(heights, new Set([lines.length, lines.length + 1]));
});

/** The answer's status, and what its body says is the matter. */
function readVerdict({ status, body }: Answer): [number, string] {
  const { status: health, error } = JSON.parse(body);
  return [status, health ?? error];
}

/** Blocks that are made at once, and take a while to replay. */
function longLines(count: number): string[] {
  const [first] = SMALL_LINES;
  const { time } = JSON.parse(first);
  const events = Array.from({ length: 400 }, (_, index) => {
    const user = `0x${String(index).padStart(40, '0')}`;
    return { type: 'transfer', user, dex: '', amount: '1.0' };
  });
  const later = Array.from({ length: count - 1 }, (_, index) => index + 2);
  return [first, ...later.map((height) => JSON.stringify({ height, time: time + height, events }))];
}

test('while it replays it answers nothing, and says so', LONG_ONLY, async (context) => {
  const lines = longLines(1000);
  const data = await makeLedger(place(), lines);
  const { secret } = await createKey(data);
  const service = await startService(context, { data, flags: ['--max-age', '0'] });
  const client = service.connect();
  const verdicts: [number, string][] = [];
  const heights: number[] = [];
  await until('the end of the replay', async () => {
    const answer = await client.ask(secret, LIGHT);
    if (answer.status === 200) heights.push(Number(answer.headers['ledger-height']));
    else verdicts.push(readVerdict(answer));
    const health = await client.send({ path: '/health' });
    verdicts.push(readVerdict(health));
    return health.status === 200;
  });
  const distinct = new Set(verdicts.map((verdict) => verdict.join(' ')));
  assert.deepEqual(distinct, new Set(['503 not_ready', '503 replaying', '200 ok']));
  assert.ok(heights.every((height) => height === lines.length));
});

test('health is stale once the writer stops, and answers are too where that is asked', async (context) => {
  const data = place();
  const feed = await startFeed(context, data);
  const { secret } = await createKey(data);
  const flags = ['--max-age', '1500', '--refuse-stale'];
  const service = await startService(context, { data, flags });
  const client = service.connect();
  const running = feed.run();
  const health = async () => readVerdict(await client.send({ path: '/health' }));
  await until('health', async () => (await health())[1] === 'ok');
  assert.equal((await client.ask(secret, LIGHT)).status, 200);
  await feed.stop();
  await running;
  await until('staleness', async () => (await health())[1] === 'stale');
  assert.deepEqual(await health(), [503, 'stale']);
  const answer = await client.ask(secret, LIGHT);
  assert.deepEqual(readVerdict(answer), [503, 'behind']);
  assert.equal(answer.headers['ledger-height'], `${feed.height}`);
});

test('a ledger whose time is ahead of the clock is not fresh, and its lag is below 0', async (context) => {
  const time = Date.now() + 3_600_000;
  const data = await makeLedger(place(), [`{"height":1,"time":${time},"events":[]}`]);
  const { secret } = await createKey(data);
  const service = await startService(context, { data, flags: ['--refuse-stale'] });
  await service.untilCaughtUp(1);
  const client = service.connect();
  const health = await client.send({ path: '/health' });
  assert.deepEqual(readVerdict(health), [503, 'ahead']);
  assert.match(
    JSON.parse(health.body).message,
    /^the newest block is of 2[-\d]+T[:\d]+Z, \d+ s ahead of this/,
  );
  assert.deepEqual(readVerdict(await client.ask(secret, LIGHT)), [503, 'behind']);
  // An hour ahead, and it took less than half of that to get here.
  assert.ok(JSON.parse(health.body).lagMs < -1_800_000, health.body);
  const lag = readSamples(await service.metrics()).get('perpinfo_ledger_lag_seconds') ?? 0;
  assert.ok(lag < -1_800, `${lag}`);
});

test('an answer comes from the height that was asked for, or not at all', async (context) => {
  const lines = simulateLines(31);
  const { data, secret, client } = await serveLedger(context, lines.slice(0, 30), {
    flags: ['--min-height-wait', '2000'],
  });
  const askFrom = (height: number) => client.ask(secret, LIGHT, { 'Ledger-Min-Height': height });
  assert.equal((await askFrom(30)).headers['ledger-height'], '30');
  const behind = await askFrom(31);
  assert.deepEqual(readVerdict(behind), [503, 'behind']);
  assert.equal(behind.headers['ledger-height'], '30');
  assert.equal(JSON.parse(behind.body).field, 'Ledger-Min-Height');
  const waiting = askFrom(31);
  await makeLedger(data, lines.slice(30));
  const answer = await waiting;
  assert.deepEqual([answer.status, answer.headers['ledger-height']], [200, '31']);
});

/** Ways in which somebody may have written to the ledger's files past the program. */
const DAMAGES: Record<string, (data: string, lines: string[]) => Promise<void>> = {
  async 'a block that the writer did not write'(data, lines) {
    const blocks = openRawBlocks(data);
    const last = blocks.get(30);
    const point = { height: 30, hash: last.subarray(0, 32) };
    blocks.putBlock(nextBlock(point, Buffer.from(lines[30])));
    await blocks.close();
  },
  async 'a block that is gone'(data) {
    const blocks = openRawBlocks(data);
    blocks.remove(30);
    await blocks.close();
  },
  async 'a block that does not fit the one before it'(data, lines) {
    const { hash } = nextBlock({ height: 30, hash: Buffer.alloc(32) }, Buffer.from(lines[30]));
    await appendBlock(data, { height: 31, hash, line: Buffer.from(lines[30]) });
  },
  async 'a block that does not apply'(data, lines) {
    const blocks = openRawBlocks(data);
    const point = { height: 30, hash: blocks.get(30).subarray(0, 32) };
    await blocks.close();
    await appendBlock(data, nextBlock(point, Buffer.from(lines[29])));
  },
};

async function appendBlock(data: string, block: ReturnType<typeof nextBlock>): Promise<void> {
  const ledger = await openEmbeddedLedgerWriter(data);
  try {
    await ledger.append([block]);
  } finally {
    await ledger.close();
  }
}

for (const [name, damage] of shareOut(Object.entries(DAMAGES), 2)) {
  test(`${name} breaks the chain, and nothing more is answered`, ALSO_LONG, async (context) => {
    const lines = simulateLines(31);
    const { data, secret, service, client } = await serveLedger(context, lines.slice(0, 30));
    await damage(data, lines);
    const health = async () => readVerdict(await client.send({ path: '/health' }));
    await until('the break to be seen', async () => (await health())[1] === 'broken');
    assert.deepEqual(await health(), [503, 'broken']);
    assert.deepEqual(readVerdict(await client.ask(secret, LIGHT)), [503, 'not_ready']);
    const fromHeight = { 'Ledger-Min-Height': '1' };
    assert.deepEqual(readVerdict(await client.ask(secret, LIGHT, fromHeight)), [503, 'not_ready']);
    const logged = () => service.log('the ledger is broken: this worker no longer answers').length;
    await until('the break to be logged', async () => logged() > 0);
    assert.equal(logged(), 1);
    assert.equal((await service.stop()).code, 0);
  });
}
