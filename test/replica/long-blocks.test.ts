/** Long blocks, which a follower applies in pieces between answers. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import fc from 'fast-check';
import { formatAddress } from '../../src/exact/address.ts';
import { answerQuestion } from '../../src/info/read-question.ts';
import { openEmbeddedLedger } from '../../src/ledger/embedded/embedded-ledger.ts';
import { openEmbeddedLedgerWriter } from '../../src/ledger/embedded/embedded-writer.ts';
import { CHAIN_START, nextBlock } from '../../src/ledger/hash-chain.ts';
import type { Ledger, StoredBlock } from '../../src/ledger/ledger.ts';
import { LiveState } from '../../src/replica/live-state.ts';
import { Replica } from '../../src/replica/replica.ts';
import { SnapshotFolder } from '../../src/replica/snapshot-folder.ts';
import { createState, type StateView } from '../../src/state/state.ts';
import { appendAll, NO_SNAPSHOTS, restoreDirectory } from '../../tools/harness/data-directory.ts';
import { runs, SEED_NOTE } from '../../tools/harness/seed.ts';
import { makeTemporaryFolder } from '../../tools/harness/temporary-folder.ts';
import { ALSO_LONG, scale } from '../scale.ts';
import { hashSnapshot } from '../state/snapshot-hash.ts';
import { outlookOf, simulateLines } from './exchange.ts';
import { longLine } from './long-line.ts';

const LINES = simulateLines('long', 60);
const NEVER = new AbortController().signal;

function restoreLines(): Replica {
  const replica = new Replica(createState(), CHAIN_START);
  for (const line of LINES) replica.extend(Buffer.from(line));
  return replica;
}

/** A ledger that only supports following these blocks. */
function ledgerOf(blocks: readonly StoredBlock[]): Ledger {
  async function* follow(): AsyncGenerator<readonly StoredBlock[]> {
    yield blocks;
  }
  return { follow } as Partial<Ledger> as Ledger;
}

function questionsAbout({ addresses, markets }: StateView): object[] {
  const users = Array.from({ length: addresses.table.rowCount - 1 }, (_, index) =>
    formatAddress(addresses.addressOf(index + 1)),
  );
  return [
    ...users.map((user) => ({ type: 'allDexsClearinghouseState', user })),
    ...users.map((user) => ({ type: 'delegations', user })),
    ...markets.dexes.map(({ name }) => ({ type: 'metaAndAssetCtxs', dex: name })),
    { type: 'perpDeployAuctionStatus' },
  ];
}

test('while a long block is applied, every answer is of the height before it or after it', async (t) => {
  const folder = await makeTemporaryFolder(t);
  await appendAll(folder, LINES, NO_SNAPSHOTS);
  const writer = await openEmbeddedLedgerWriter(folder);
  t.after(() => writer.close());
  const replica = restoreLines();
  const block = replica.extend(Buffer.from(longLine(replica.state, 5000)));
  const questions = questionsAbout(replica.state);

  const ledger = await openEmbeddedLedger(folder);
  t.after(() => ledger.close());
  const live = new LiveState({
    ledger,
    snapshots: new SnapshotFolder(folder),
    maxAgeMs: 0,
    warn: assert.fail,
    advanced: () => undefined,
    failed: assert.ifError,
  });
  const end = new AbortController();
  const running = live.run(end.signal);
  await live.waitFor(LINES.length, 20_000);
  await writer.append([block]);
  const answers = new Map<string, { height: number; question: object; answer: string }>();
  for (let asked = 0; live.state !== undefined; asked++) {
    const { state } = live;
    const question = questions[asked % questions.length];
    const answer = answerQuestion(state, question);
    answers.set(`${state.height} ${answer}`, { height: state.height, question, answer });
    assert.ok(asked < 1_000_000, 'the block does not come');
    if (state.height > LINES.length && asked % questions.length === 0) break;
    await nextTurn();
  }
  end.abort();
  await running;

  for (const height of [LINES.length, LINES.length + 1]) {
    const { state } = (await restoreDirectory(folder, height)).replica;
    const given = [...answers.values()].filter((one) => one.height === height);
    assert.ok(given.length > 0, `no answer of height ${height}`);
    for (const { question, answer } of given) {
      assert.equal(answer, answerQuestion(state, question), JSON.stringify(question));
    }
  }
  assert.deepEqual(outlookOf(live.state as StateView), outlookOf(replica.state));
});

test('between pieces other work runs, and sees nothing of the block', async () => {
  const replica = restoreLines();
  const block = nextBlock(replica.point, Buffer.from(longLine(replica.state, 5000)));
  const [before, pointBefore] = [outlookOf(replica.state), replica.point];
  let isOver = false;
  const following = replica.follow(ledgerOf([block]), NEVER).finally(() => {
    isOver = true;
  });
  let turns = 0;
  for (; !isOver; turns++) {
    await nextTurn();
    if (isOver || replica.point.height === block.height) break;
    assert.deepEqual(outlookOf(replica.state), before);
    assert.deepEqual(replica.point, pointBefore);
  }
  await following;
  assert.ok(turns > 3, `${turns} turns`);
  const whole = restoreLines();
  whole.apply(block);
  assert.deepEqual(outlookOf(replica.state), outlookOf(whole.state));
  assert.deepEqual(replica.point, whole.point);
});

/** Long lines that are wrong or unusual. */
const CHANGES: Record<string, (line: string) => string> = {
  'an event in the middle that does not apply': (line) =>
    line.replace(/"dex":""(?!.*"dex":"")/, '"dex":"nowhere"'),
  'an event that does not apply, and a later one that cannot be read': (line) =>
    line.replace('"dex":""', '"dex":"nowhere"').replace(/\]\}$/, ',{"type":"order"}]}'),
  'a payment that does not apply': (line) =>
    line.replace(
      /(\["0x[^"]*","0\.01"\])\]\}/,
      '$1,["0x00000000000000000000000000000000000000ff","1.0"]]}',
    ),
  'a line that breaks off': (line) => line.slice(0, -1000),
  'a line that breaks off behind an event': (line) => line.slice(0, line.lastIndexOf(',{"type"')),
  'a comma too many': (line) => line.replace(/\]\}$/, ',]}'),
  'the height of another block': (line) => line.replace(/^\{"height":\d+/, '{"height":5'),
  'a height of 0': (line) => line.replace(/^\{"height":\d+/, '{"height":0'),
  'a time before the last one': (line) => line.replace(/"time":\d+/, '"time":5'),
  'a field that does not belong there': (line) => line.replace(/\}$/, ',"extra":1}'),
  'a byte order mark': (line) => `\ufeff${line}`,
  'fields in another order': (line) =>
    JSON.stringify(Object.fromEntries(Object.entries(JSON.parse(line)).reverse())),
  'spaces between all that there is': (line) => JSON.stringify(JSON.parse(line), null, 2),
};

for (const [about, change] of Object.entries(CHANGES)) {
  test(`in pieces, ${about} has the same result as in one go`, async () => {
    const [whole, inPieces] = [restoreLines(), restoreLines()];
    const line = longLine(whole.state, 2000);
    assert.ok(change(line) !== line);
    const block = nextBlock(whole.point, Buffer.from(change(line)));
    const refusal = await attempt(async () => whole.apply(block));
    assert.equal(await attempt(() => inPieces.follow(ledgerOf([block]), NEVER)), refusal);
    assert.deepEqual(outlookOf(inPieces.state), outlookOf(whole.state));
    assert.deepEqual(inPieces.point, whole.point);
  });
}

test('bytes that are not UTF-8, or not the ones that were hashed, are refused in the same words', async () => {
  const [whole, inPieces] = [restoreLines(), restoreLines()];
  const line = Buffer.from(longLine(whole.state, 2000));
  line[50_000] = 0xff;
  const block = nextBlock(whole.point, line);
  for (const each of [block, { ...block, hash: whole.point.hash }, { ...block, height: 7 }]) {
    const refusal = await attempt(async () => whole.apply(each));
    assert.notEqual(refusal, undefined);
    assert.equal(await attempt(() => inPieces.follow(ledgerOf([each]), NEVER)), refusal);
  }
});

/** In an object, a coin that is a number comes before the others, wherever the line has it. */
const COINS = Array.from({ length: 1500 }, (_, index) =>
  index % 3 === 0 ? `${index}` : `C${index}`,
);

function restoreMarkets(): Replica {
  const replica = new Replica(createState(), CHAIN_START);
  const terms = { szDecimals: 2, marginTiers: [{ lowerBound: '0.0', maxLeverage: 10 }] };
  const market = { type: 'market', dex: '', ...terms, onlyIsolated: false, markPx: '5.0' };
  const events = COINS.map((coin) => ({ ...market, coin }));
  replica.extend(Buffer.from(JSON.stringify({ height: 1, time: 0, events })));
  return replica;
}

/** Prices that come on top of those of all coins: repeated ones, good or bad, and an unknown coin. */
const OTHER_PRICES = ['"C1":"5.0"', '"C1":"2.5"', '"C1000":"-1.0"', '"C1":7', '"3":"0.00001"'];
const otherPrice = fc.record({
  at: fc.nat(COINS.length),
  price: fc.constantFrom(...OTHER_PRICES, ...OTHER_PRICES, '"NONE":"1.0"'),
});
/** An event with all coins, some of them twice, as text. */
const longMarks = fc
  .record({
    mark: fc.constantFrom('5.0', '2.5'),
    first: fc.nat(COINS.length),
    others: fc.array(otherPrice, { maxLength: 2 }),
  })
  .map(({ mark, first, others }) => {
    const coins = [...COINS.slice(first), ...COINS.slice(0, first)];
    const prices = coins.map((coin) => `"${coin}":"${mark}"`);
    for (const { at, price } of others) prices.splice(at, 0, price);
    return `{"type":"marks","prices":{${prices.join(',')}}}`;
  });

function positionIn(coin: string, szi = '1.0'): string {
  const cumFunding = { allTime: '0.5', sinceOpen: '0.0', sinceChange: '0.0' };
  const leverage = { type: 'cross', value: 5 };
  return JSON.stringify({ coin, szi, entryNtl: '20.0', leverage, cumFunding });
}

const otherPosition = fc.record({
  at: fc.nat(COINS.length),
  position: fc.constantFrom(positionIn('C1'), positionIn('C2', '0.0'), positionIn('NONE')),
});
/** An event with positions in every fifth market, in an order that starts anywhere, as text. */
const longAccount = fc
  .record({
    user: fc.constantFrom('aa', 'bb'),
    first: fc.nat(COINS.length),
    others: fc.oneof(fc.constant([]), fc.array(otherPosition, { maxLength: 2 })),
  })
  .map(({ user, first, others }) => {
    const coins = [...COINS.slice(first), ...COINS.slice(0, first)];
    const positions = coins.filter((_, at) => at % 5 === 0).map((coin) => positionIn(coin));
    for (const { at, position } of others) positions.splice(at, 0, position);
    const account = `"user":"0x${user.repeat(20)}","dex":"","rawUsd":"${first}.5"`;
    return `{"type":"account",${account},"positions":[${positions}]}`;
  });

test(`marks and accounts in pieces end as in one go ${SEED_NOTE}`, ALSO_LONG, async () => {
  let refused = 0;
  let applied = 0;
  const compare = async (blocks: readonly string[][]) => {
    const [whole, inPieces] = [restoreMarkets(), restoreMarkets()];
    for (const events of blocks) {
      const line = `{"height":${whole.point.height + 1},"time":0,"events":[${events}]}`;
      const next = nextBlock(whole.point, Buffer.from(line));
      const refusal = await attempt(async () => whole.apply(next));
      assert.equal(await attempt(() => inPieces.follow(ledgerOf([next]), NEVER)), refusal);
      assert.equal(hashSnapshot(inPieces.state), hashSnapshot(whole.state));
      if (refusal === undefined) applied++;
      else refused++;
    }
  };
  const block = fc.array(fc.oneof(longMarks, longAccount), { minLength: 1, maxLength: 2 });
  const blocks = fc.array(block, { minLength: 2, maxLength: 4 });
  await fc.assert(fc.asyncProperty(blocks, compare), runs(scale(8, 20)));
  assert.ok(refused > 0 && applied > 0, `${refused} refused, ${applied} applied`);
});

/** The message that it fails with. */
async function attempt(work: () => Promise<void>): Promise<string | undefined> {
  try {
    await work();
    return undefined;
  } catch (error) {
    return (error as Error).message;
  }
}
