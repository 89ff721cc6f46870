import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { ADDRESS_EXPECTED } from '../../src/exact/address.ts';
import { createPlaces } from '../../tools/harness/program.ts';
import { connect } from '../../tools/harness/raw-client.ts';
import { type Answer, createKey, startService } from '../../tools/harness/running.ts';
import { LONG_ONLY, scale } from '../scale.ts';
import { createLiveLedger } from './live-ledger.ts';

const place = createPlaces();

/** As many as a call may name. */
const USERS_MAX = 1000;
const ROUNDS = scale(2, 5);

/** A service on a ledger at rest, with keys for all tests. */
const data = place();
const live = await createLiveLedger(data, {
  seed: 'bulk',
  accounts: USERS_MAX,
  positionsPerAccount: 4,
});
const users = live.users.slice(0, USERS_MAX);
await live.close();
const { secret } = await createKey(data);
/** They fill up by one in some seconds: what a test spends at once is seen to the unit. */
const { secret: rich } = await createKey(data, { budget: '4000/h' });
const { secret: richToo } = await createKey(data, { budget: '4000/h' });
const { secret: poor } = await createKey(data, { budget: '1999/h' });
const service = await startService({ after }, { data, flags: ['--max-age', '0'] });
await service.untilCaughtUp(live.state.height);
const client = service.connect();

function askMany(asked: unknown[], { key = secret, dex = '' } = {}): Promise<Answer> {
  return client.ask(key, { type: 'batchClearinghouseStates', users: asked, dex });
}

function readError({ status, body }: Answer): { status: number; error: string; field: string } {
  const { error, field } = JSON.parse(body);
  return { status, error, field };
}

interface Measured<T> {
  readonly ms: number;
  readonly result: T;
}

async function measure<T>(work: () => Promise<T>): Promise<Measured<T>> {
  const startedMs = performance.now();
  const result = await work();
  return { ms: performance.now() - startedMs, result };
}

async function askEach(): Promise<Answer[]> {
  const answers: Answer[] = [];
  for (const user of users)
    answers.push(await client.ask(secret, { type: 'clearinghouseState', user }));
  return answers;
}

test(
  'a thousand accounts in one call cost less than a quarter of a thousand calls',
  LONG_ONLY,
  async () => {
    const single: number[] = [];
    const together: number[] = [];
    for (let round = 0; round < ROUNDS; round++) {
      single.push((await measure(askEach)).ms);
      together.push((await measure(() => askMany(users))).ms);
    }
    // The best of each: what else the machine does only ever adds. The ratio is about a tenth.
    const ratio = Math.min(...together) / Math.min(...single);
    assert.ok(ratio < 0.25, `${together} ms against ${single} ms`);
  },
);

test('accounts in one call are what single calls answer at the same height', async () => {
  const singles = await askEach();
  const together = await askMany(users);
  const pairs = users.map((user, index) => `["${user}",${singles[index].body}]`);
  assert.equal(together.body, `{"successful_states":[${pairs}],"failed_wallets":[]}`);
  const heights = new Set([...singles, together].map(({ headers }) => headers['ledger-height']));
  assert.deepEqual([...heights], [`${live.state.height}`]);
});

test('who reads slowly gets its own bytes, whatever is answered meanwhile', async () => {
  const body = JSON.stringify({ type: 'batchClearinghouseStates', users: users.toReversed() });
  const expected = (await askMany(users.toReversed())).body;
  const head = `POST /${secret}/info HTTP/1.1\r\nHost: x\r\nContent-Type: application/json`;
  const request = `${head}\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
  const slow = await Promise.all([1, 2, 3].map(() => connect(service.port)));
  for (const { socket } of slow) socket.pause();
  for (const reader of slow) for (let time = 0; time < 3; time++) reader.send(request);
  for (let round = 0; round < 10; round++) await askMany(users.slice(round));
  for (const reader of slow) {
    reader.socket.resume();
    for (let time = 0; time < 3; time++) {
      assert.equal((await reader.response()).body, expected);
    }
    reader.close();
  }
});

test('a user more than a thousand is refused, and the list of users named', async () => {
  assert.equal((await askMany(users)).status, 200);
  const error = { status: 422, error: 'invalid_field', field: 'users' };
  assert.deepEqual(readError(await askMany([...users, users[0]])), error);
  assert.deepEqual(readError(await askMany(users.slice(0, 101), { dex: 'ALL_DEXES' })), error);
});

test('what is not an address is named, and the others are answered', async () => {
  const [first, second] = users;
  const known = JSON.parse((await askMany([first, second])).body);
  const answer = await askMany([first, '0xeaa3', second, 7]);
  assert.equal(answer.status, 200);
  assert.deepEqual(JSON.parse(answer.body), {
    successful_states: known.successful_states,
    failed_wallets: [
      ['0xeaa3', `got "0xeaa3", expected ${ADDRESS_EXPECTED}`],
      ['users[3]', `got 7, expected ${ADDRESS_EXPECTED}`],
    ],
  });
});

test('a call weighs 2 for each user, and 20 on all dexes', async () => {
  const left = async (answer: Promise<Answer>) => (await answer).headers['ratelimit-remaining'];
  assert.equal(await left(askMany(users, { key: rich })), '2000');
  const onAllDexes = { key: richToo, dex: 'ALL_DEXES' };
  assert.equal(await left(askMany(users.slice(0, 50), onAllDexes)), '3000');
});

test('a call that is heavier than the whole budget is refused for good, not for now', async () => {
  const error = { status: 422, error: 'invalid_field', field: 'users' };
  const refused = await askMany(users, { key: poor });
  assert.deepEqual(readError(refused), error);
  assert.equal(refused.headers['retry-after'], undefined);
  // The refusal took 6, for the length of the question: enough is left for four users fewer, once.
  const fewer = users.slice(4);
  assert.equal((await askMany(fewer, { key: poor })).status, 200);
  assert.equal((await askMany(fewer, { key: poor })).status, 429);
});
