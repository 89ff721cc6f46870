/** Accounts of a simulated exchange, read backwards from answers in the dialect of an upstream. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseBlock } from '../../../src/events/event.ts';
import { USD_DECIMALS } from '../../../src/events/fields.ts';
import { type Address, formatAddress } from '../../../src/exact/address.ts';
import { type Exact, formatUnits, parseBigUnits } from '../../../src/exact/decimal.ts';
import { Random } from '../../../src/simulator/random.ts';
import { createSimulator } from '../../../src/simulator/simulator.ts';
import { FIRST_ACCOUNT } from '../../../src/state/addresses.ts';
import {
  type AccountFigures,
  accountFigures,
  type PositionFigures,
} from '../../../src/state/figures/figures.ts';
import { applyBlock } from '../../../src/state/fold.ts';
import { createState, type State } from '../../../src/state/state.ts';
import {
  ACCOUNT_DEX,
  COLLATERAL,
  NEXT_ACCOUNT,
  ORDER_MARGIN,
} from '../../../src/state/tables/columns.ts';
import {
  type AccountReading,
  readAccountAnswer,
} from '../../../src/upstream/dialect/account-answer.ts';
import { checkAccount } from '../../../src/upstream/dialect/account-check.ts';
import {
  describeAccountChanges,
  findDifferences,
} from '../../../src/upstream/dialect/account-events.ts';
import { DialectError } from '../../../src/upstream/dialect/dialect.ts';
import { directoryOfLedger } from '../../../src/upstream/dialect/market-directory.ts';
import {
  describeMarketChanges,
  describeNewDexes,
} from '../../../src/upstream/dialect/market-events.ts';
import { SEED, SEED_NOTE } from '../../../tools/harness/seed.ts';
import { ALSO_FULL, scale } from '../../scale.ts';
import { Tally } from '../../twin/tally.ts';
import {
  type AnsweredAccount,
  type AnsweredPosition,
  askAccount,
  renderAsUpstream,
} from '../follower/as-upstream.ts';

const ACCOUNTS = scale(200, 2000);
const BLOCKS = scale(200, 2000);
const TAMPERED = scale(30, 600);

const exchange = createSimulator({ seed: `dialect/${SEED}`, accounts: ACCOUNTS });
for (let block = 0; block < BLOCKS || !exchange.isSetUp; block++) exchange.next();
const truth = exchange.state;
const directory = directoryOfLedger(truth);

interface Sample {
  readonly address: Address;
  readonly user: string;
  readonly dex: string;
  readonly account: number;
  readonly answer: AnsweredAccount;
}

/** Every account of the exchange. */
function* samples(): Generator<Sample> {
  for (let row = 1; row < truth.addresses.table.rowCount; row++) {
    const address = truth.addresses.addressOf(row);
    const user = formatAddress(address);
    let account = truth.addresses.table.get(row, FIRST_ACCOUNT);
    for (; account !== 0; account = truth.accounts.get(account, NEXT_ACCOUNT)) {
      const dex = truth.markets.dexes[truth.accounts.get(account, ACCOUNT_DEX)].name;
      yield { address, user, dex, account, answer: askAccount(truth, user, dex) };
    }
  }
}

function readSample(sample: Sample, answer: unknown): AccountReading | DialectError {
  const collateral = truth.accounts.get(sample.account, COLLATERAL);
  return readAccountAnswer(answer, { dex: sample.dex, directory, collateral });
}

function mustRead(sample: Sample, answer: unknown): AccountReading {
  const reading = readSample(sample, answer);
  if (reading instanceof DialectError) assert.fail(reading.message);
  return reading;
}

function append(state: State, events: readonly unknown[]): void {
  const block = { height: state.height + 1, time: truth.time, events };
  applyBlock(state, parseBlock(JSON.stringify(block)));
}

/** A ledger with the exchange's markets and prices, to record accounts in. */
function createFollower(): State {
  const state = createState();
  const { markets } = truth.markets;
  const prices = new Map(
    markets.map(({ coin }, index) => [coin, truth.markets.markPrice(index)] as const),
  );
  append(state, [
    { type: 'partial' },
    ...describeNewDexes(state, directory),
    ...describeMarketChanges(state, directory, prices).events,
  ]);
  return state;
}

function tally(counts: Tally, { rows }: AccountReading): void {
  counts.count(rows.isOrderMarginExact ? 'withdrawable' : 'nothing withdrawable');
  if (rows.isOrderMarginExact && rows.orderMargin > 0) counts.count('resting orders');
  if (rows.collateral > 0) counts.count('collateral');
  if (rows.dex !== '') counts.count('further dex');
  if (rows.positions.length === 0) counts.count('no position');
  for (const { mode, size } of rows.positions)
    counts.count(`${mode} ${size < 0 ? 'short' : 'long'}`);
}

const BRANCHES = [
  'withdrawable',
  'nothing withdrawable',
  'resting orders',
  'collateral',
  'further dex',
  'no position',
  'cross long',
  'cross short',
  'isolated long',
  'isolated short',
];

test(
  `the rows behind an upstream's answer are found, and reproduce it ${SEED_NOTE}`,
  ALSO_FULL,
  (context) => {
    const random = new Random(`dialect/${SEED}`);
    const counts = new Tally();
    const follower = createFollower();
    for (const sample of samples()) {
      const { address, user, dex, account, answer } = sample;
      const reading = mustRead(sample, renderAsUpstream(answer, random));
      assert.deepEqual(checkAccount(reading, directory), [], user);
      assert.deepEqual(findDifferences(truth, address, reading.rows), [], user);
      const { rows } = reading;
      const orderMargin = truth.accounts.get(account, ORDER_MARGIN);
      if (rows.isOrderMarginExact) assert.equal(rows.orderMargin, orderMargin, user);
      else assert.ok(rows.orderMargin <= orderMargin, user);
      append(follower, describeAccountChanges(follower, address, rows));
      assert.deepEqual(askAccount(follower, user, dex), answer);
      tally(counts, reading);
    }
    context.diagnostic(counts.describe());
    counts.assertAll(BRANCHES);
  },
);

/** As an exchange that computes in doubles of dollars would write it. */
function liquidationInDoubles(account: AccountFigures, position: PositionFigures): string | null {
  const { market, isIsolated } = position;
  const side = position.size < 0 ? -1 : 1;
  const size = Math.abs(position.size) / 10 ** market.sizeDecimals;
  const dollars = (units: Exact) => Number(units) / 10 ** USD_DECIMALS;
  const others = dollars(account.crossMaintenanceMargin) - dollars(position.maintenanceMargin);
  const cross = dollars(account.crossSummary.accountValue) + dollars(account.collateral) - others;
  const equity = isIsolated ? dollars(position.marginUsed) : cross;
  let price = 0;
  let deduction = 0;
  let rateBefore = 0;
  for (const [index, { lowerBound, maxLeverage }] of market.tiers.entries()) {
    const rate = 1 / (2 * maxLeverage);
    if (index > 0) deduction += dollars(lowerBound) * (rate - rateBefore);
    rateBefore = rate;
    const dividend = dollars(position.value) - side * equity - side * deduction;
    const candidate = dividend / (size * (1 - rate * side));
    if (index === 0 || candidate * size >= dollars(lowerBound)) price = candidate;
  }
  return price <= 0 ? null : price.toFixed(Math.abs(price) < 1 ? 20 : 13);
}

test(
  `the noise of an exchange that computes in doubles is no mismatch ${SEED_NOTE}`,
  ALSO_FULL,
  () => {
    let noisy = 0;
    for (const sample of samples()) {
      const answer = structuredClone(sample.answer);
      const account = accountFigures(truth, sample.account);
      for (const [index, { position }] of answer.assetPositions.entries()) {
        const figures = account.positions[index];
        const gain = Number(position.unrealizedPnl) * position.leverage.value;
        const entry = figures.entryNotional / 10 ** USD_DECIMALS;
        position.returnOnEquity = String(gain / entry);
        position.liquidationPx = liquidationInDoubles(account, figures);
      }
      assert.deepEqual(checkAccount(mustRead(sample, answer), directory), [], sample.user);
      if (JSON.stringify(answer) !== JSON.stringify(sample.answer)) noisy++;
    }
    assert.ok(noisy > ACCOUNTS / 2);
  },
);

/** The decimal, larger by some units of 10^-decimals. */
function raise(text: string, units: number, decimals = USD_DECIMALS): string {
  return formatUnits(parseBigUnits(text, decimals) + BigInt(units), decimals);
}

interface Tampering {
  readonly field: string;
  /** False where rows are read from the figure itself, so that others are named instead of it. */
  readonly isNamed: boolean;
  tamper(answer: AnsweredAccount): void;
}

const SUMMARIES = ['marginSummary', 'crossMarginSummary'] as const;
const TOTALS = ['accountValue', 'totalNtlPos', 'totalRawUsd', 'totalMarginUsed'] as const;

function tamperingsOf({ answer, account }: Sample): Tampering[] {
  const list: Tampering[] = [];
  const add = (field: string, isNamed: boolean, tamper: Tampering['tamper']) =>
    list.push({ field, isNamed, tamper });
  for (const summary of SUMMARIES) {
    for (const total of TOTALS) {
      const field = `${summary}.${total}`;
      add(field, field !== 'crossMarginSummary.totalRawUsd', (told) => {
        told[summary][total] = raise(told[summary][total], 1);
      });
    }
  }
  add('crossMaintenanceMarginUsed', true, (told) => {
    told.crossMaintenanceMarginUsed = raise(told.crossMaintenanceMarginUsed, 1);
  });
  // Less than what is free may be withdrawable: orders reserve the rest. More may not.
  if (answer.withdrawable !== '0.0') {
    const reserved = truth.accounts.get(account, ORDER_MARGIN);
    add('withdrawable', true, (told) => {
      told.withdrawable = raise(told.withdrawable, reserved + 1);
    });
  }
  for (const index of answer.assetPositions.keys()) list.push(...positionTamperings(answer, index));
  return list;
}

function positionTamperings(answer: AnsweredAccount, index: number): Tampering[] {
  const { position: original } = answer.assetPositions[index];
  const market = directory.find(original.coin) ?? assert.fail(original.coin);
  const list: Tampering[] = [];
  const add = (field: string, isNamed: boolean, tamper: (position: AnsweredPosition) => void) =>
    list.push({ field, isNamed, tamper: (told) => tamper(told.assetPositions[index].position) });
  add('entryPx', true, (told) => {
    told.entryPx = raise(told.entryPx, 1, market.priceDecimals);
  });
  add('marginUsed', true, (told) => {
    told.marginUsed = raise(told.marginUsed, 1);
  });
  add('maxLeverage', true, (told) => {
    told.maxLeverage++;
  });
  add('returnOnEquity', true, (told) => {
    told.returnOnEquity = (Number(told.returnOnEquity) + 1e-6).toFixed(12);
  });
  add('liquidationPx', true, (told) => {
    const markPrice = Number(told.positionValue) / Math.abs(Number(told.szi));
    const price = Number(told.liquidationPx ?? '0');
    // Far from the mark, the noise of doubles is large too.
    told.liquidationPx = (price + Math.max(price, markPrice) / 1000).toFixed(12);
  });
  add('leverage.type', true, (told) => {
    told.leverage.type = 'portfolio';
  });
  add('szi', false, (told) => {
    told.szi = raise(told.szi, 1, market.sizeDecimals);
  });
  add('positionValue', false, (told) => {
    told.positionValue = raise(told.positionValue, 1);
  });
  add('unrealizedPnl', false, (told) => {
    const hundredth = Math.ceil(Number(told.positionValue) * 10 ** (USD_DECIMALS - 2));
    told.unrealizedPnl = raise(told.unrealizedPnl, hundredth);
  });
  if (original.leverage.type === 'isolated') {
    add('leverage.rawUsd', false, (told) => {
      told.leverage.rawUsd = raise(told.leverage.rawUsd ?? assert.fail(), 1);
    });
  }
  // The leverage of an isolated position shows in its return only.
  if (original.leverage.type === 'cross' || Math.abs(Number(original.returnOnEquity)) > 1e-6) {
    add('leverage.value', false, (told) => {
      told.leverage.value++;
    });
  }
  return list;
}

/** The fields that are named for the answer: by the reader, or by the check. */
function namedFields(sample: Sample, answer: AnsweredAccount): string[] {
  const reading = readSample(sample, answer);
  const mismatches =
    reading instanceof DialectError ? [reading.mismatch] : checkAccount(reading, directory);
  return mismatches.map(({ field }) => field);
}

test(`each single figure that was tampered with is found ${SEED_NOTE}`, ALSO_FULL, (context) => {
  const random = new Random(`tampered/${SEED}`);
  const counts = new Tally();
  const candidates = [...samples()].filter(({ answer }) => answer.assetPositions.length > 0);
  for (let round = 0; round < TAMPERED; round++) {
    const sample = random.pick(candidates);
    for (const { field, isNamed, tamper } of tamperingsOf(sample)) {
      const answer = structuredClone(sample.answer);
      for (const { position } of answer.assetPositions) {
        if (position.leverage.type === 'cross') delete position.leverage.rawUsd;
      }
      tamper(answer);
      const named = namedFields(sample, answer);
      const message = `${field} of ${sample.user}: ${JSON.stringify(named)}`;
      assert.ok(isNamed ? named.includes(field) : named.length > 0, message);
      counts.count(field);
    }
  }
  context.diagnostic(counts.describe());
});
