/** The stub exchange and the readers of the follower mean the same dialect. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Address, formatAddress } from '../../../src/exact/address.ts';
import { Random } from '../../../src/simulator/random.ts';
import { createSimulator } from '../../../src/simulator/simulator.ts';
import { findAccount } from '../../../src/state/accounts.ts';
import { createState } from '../../../src/state/state.ts';
import {
  type AccountReading,
  readAccountAnswer,
} from '../../../src/upstream/dialect/account-answer.ts';
import { findDifferences } from '../../../src/upstream/dialect/account-events.ts';
import { DialectError, type Mismatch } from '../../../src/upstream/dialect/dialect.ts';
import { readAllPerpMetas, readPerpDexs } from '../../../src/upstream/dialect/market-answers.ts';
import {
  createDirectory,
  type MarketDirectory,
} from '../../../src/upstream/dialect/market-directory.ts';
import {
  readCollateral,
  readMode,
  UNIFIED_MODE,
} from '../../../src/upstream/dialect/spot-answer.ts';
import {
  AccountJudge,
  type JudgedAccount,
} from '../../../src/upstream/follower/accounts/account-judge.ts';
import { SEED, SEED_NOTE } from '../../../tools/harness/seed.ts';
import {
  DialectAnswers,
  type Json,
  type Question,
} from '../../../tools/stub-exchange/dialect-answers.ts';
import { hasOtherRules, isFollowed } from '../../../tools/stub-exchange/dialect-modes.ts';
import { hasIsolatedLeg } from '../../../tools/stub-exchange/isolated-leg.ts';
import { holdsStrangeCoin } from '../../../tools/stub-exchange/strange-coin.ts';
import { TruthLines } from '../../../tools/stub-exchange/truth-lines.ts';
import { contradict, misshape } from '../../../tools/stub-exchange/wrong-answers.ts';
import { ALSO_FULL, scale } from '../../scale.ts';

const START_MS = Date.UTC(2026, 0, 5);
const BLOCK_MS = 10_000;
const simulator = createSimulator({
  ...{ seed: `stub/${SEED}`, accounts: scale(100, 1000), startTimeMs: START_MS },
});
const lines = new TruthLines(simulator, { state: createState() });
for (let block = 0; block < scale(200, 1000) || !lines.isSetUp; block++) {
  lines.next(START_MS + block * BLOCK_MS);
}
const truth = lines.state;
const answers = new DialectAnswers({ unknownTypes: [] });

function ask(question: Question): Json {
  const reply = answers.answer(truth, question);
  return reply.kind === 'answer' ? reply.json : assert.fail(reply.kind);
}

function unwrap<T>(reading: T | DialectError): T {
  if (reading instanceof DialectError) assert.fail(reading.message);
  return reading;
}

/** Delisted, in a dex without tables: the number of its table says nothing. */
const UNKNOWN_TABLE = 'fiat:EUR';

function namesOf(elements: readonly { readonly name: string }[]): string[] {
  return elements.map(({ name }) => name);
}

/** As a follower reads it that starts with nothing. */
function readDirectory(): MarketDirectory {
  const dexes = unwrap(readPerpDexs(ask({ type: 'perpDexs' })));
  const metas = unwrap(readAllPerpMetas(ask({ type: 'allPerpMetas' }), dexes));
  return createDirectory(createState(), { dexes, metas });
}

interface Sample {
  readonly address: Address;
  readonly user: string;
  readonly dex: string;
}

/** Of those who have an account in the dex: a balance shows in other dexes too, where it backs nothing. */
function listSamples(): Sample[] {
  const rows = Array.from({ length: truth.addresses.table.rowCount - 1 }, (_, index) => index + 1);
  return rows.flatMap((row) => {
    const address = truth.addresses.addressOf(row);
    const user = formatAddress(address);
    return truth.markets.dexes.flatMap(({ name: dex }, dexIndex) =>
      findAccount(truth, row, dexIndex) === 0 ? [] : [{ address, user, dex }],
    );
  });
}

function readCollateralOf(
  { user }: Sample,
  { rows, reported }: AccountReading,
  directory: MarketDirectory,
): number | DialectError {
  if (unwrap(readMode(ask({ type: 'userAbstraction', user }))) !== UNIFIED_MODE) return 0;
  const balances = ask({ type: 'spotClearinghouseState', user });
  return readCollateral(balances, directory.collateralTokenOf(rows.dex), reported);
}

/** As a follower judges it that knows nothing of the account and has just read the markets. */
function judge(sample: Sample, directory: MarketDirectory, answer: unknown): JudgedAccount {
  const { address, user, dex } = sample;
  const time = { note: () => undefined };
  const judging = new AccountJudge({ ledger: createState(), pending: { directory }, time });
  const source = (reading: AccountReading) => readCollateralOf(sample, reading, directory);
  const watched = { address, item: { kind: 'account', user, dex } } as const;
  return judging.judgeWith(answer, watched, [source], { areMarketsNew: true });
}

function askAccount({ user, dex }: Sample): Json {
  return ask({ type: 'clearinghouseState', user, dex });
}

function findMismatches(
  sample: Sample,
  directory: MarketDirectory,
  answer: unknown,
): readonly Mismatch[] {
  const judged = judge(sample, directory, answer);
  return judged.kind === 'checked' ? [] : (judged.mismatches ?? []);
}

test(
  `every account of the stub exchange checks, and has the rows of the truth ${SEED_NOTE}`,
  ALSO_FULL,
  () => {
    const directory = readDirectory();
    assert.deepEqual(namesOf(directory.skipped), [UNKNOWN_TABLE]);
    for (const sample of listSamples().filter(({ user }) => isFollowed(user))) {
      const judged = judge(sample, directory, askAccount(sample));
      assert.equal(judged.kind, 'checked', JSON.stringify(judged));
      if (judged.kind !== 'checked') continue;
      assert.deepEqual(findDifferences(truth, sample.address, judged.rows), []);
    }
  },
);

test('an account in another mode contradicts the rules of the ledger', () => {
  const directory = readDirectory();
  const found = listSamples()
    .filter(({ user }) => hasOtherRules(user))
    .flatMap((sample) => findMismatches(sample, directory, askAccount(sample)));
  assert.deepEqual([...new Set(found.map(({ field }) => field))], ['liquidationPx']);
});

test('an isolated leg without a position is named', () => {
  const directory = readDirectory();
  const samples = listSamples().filter(({ user, dex }) => hasIsolatedLeg(user) && dex === '');
  assert.ok(samples.length > 0);
  for (const sample of samples) {
    const fields = findMismatches(sample, directory, askAccount(sample)).map(({ field }) => field);
    assert.deepEqual(fields, ['isolatedLeg'], sample.user);
  }
});

test(`every contradiction of the stub exchange is found ${SEED_NOTE}`, ALSO_FULL, () => {
  const directory = readDirectory();
  const random = new Random(`contradictions/${SEED}`);
  const samples = listSamples();
  for (let round = 0; round < scale(500, 5000); round++) {
    const sample = random.pick(samples);
    const answer = contradict(random, askAccount(sample));
    const found = findMismatches(sample, directory, answer);
    assert.ok(found.length > 0, JSON.stringify(answer));
  }
});

test(`no answer of the stub exchange with a wrong shape is read ${SEED_NOTE}`, ALSO_FULL, () => {
  const directory = readDirectory();
  const random = new Random(`shapes/${SEED}`);
  const samples = listSamples();
  for (let round = 0; round < scale(300, 3000); round++) {
    const sample = random.pick(samples);
    const answer = misshape(random, askAccount(sample));
    const reading = readAccountAnswer(answer, { dex: sample.dex, directory });
    assert.ok(reading instanceof DialectError, JSON.stringify(answer));
    assert.equal(reading.fault, 'shape');
  }
});

test('an account in a coin that a ledger cannot hold is refused, all others are read', () => {
  answers.hasStrangeCoin = true;
  const directory = readDirectory();
  assert.deepEqual(namesOf(directory.skipped), ['TST/2', UNKNOWN_TABLE]);
  for (const sample of listSamples()) {
    const reading = readAccountAnswer(askAccount(sample), { dex: sample.dex, directory });
    const isStrange = sample.dex === '' && holdsStrangeCoin(sample.user);
    assert.equal(reading instanceof DialectError && reading.fault, isStrange ? 'market' : false);
  }
  answers.hasStrangeCoin = false;
});
