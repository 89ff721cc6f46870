/**
 * The corpus: answers of the real exchange that stand in public repositories, in test/recorded/corpus,
 * each followed by the follower's own code, recorded in a ledger, and asked for again.
 */

import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { parseBlock } from '../../../src/events/event.ts';
import { isJsonObject } from '../../../src/events/fields.ts';
import { parseAddress } from '../../../src/exact/address.ts';
import type { QuestionBody } from '../../../src/info/question.ts';
import { applyBlock } from '../../../src/state/fold.ts';
import { createState, type State } from '../../../src/state/state.ts';
import type { AnswerAsker } from '../../../src/upstream/client/question-asker.ts';
import { UpstreamError } from '../../../src/upstream/client/upstream-error.ts';
import {
  type AccountRows,
  readAccountAnswer,
} from '../../../src/upstream/dialect/account-answer.ts';
import { compareAccount } from '../../../src/upstream/dialect/account-check.ts';
import { describeAccountChanges } from '../../../src/upstream/dialect/account-events.ts';
import { DialectError } from '../../../src/upstream/dialect/dialect.ts';
import { readMeta } from '../../../src/upstream/dialect/market-answers.ts';
import {
  createDirectory,
  type MarketDirectory,
} from '../../../src/upstream/dialect/market-directory.ts';
import {
  describeMarketChanges,
  describeNewDexes,
} from '../../../src/upstream/dialect/market-events.ts';
import { isSameAmount } from '../../../src/upstream/dialect/printed-amounts.ts';
import { isSameRatio } from '../../../src/upstream/dialect/same-ratio.ts';
import {
  AccountComparer,
  type AccountComparison,
} from '../../../src/upstream/probe/account-comparison.ts';
import { PROJECT } from '../../../tools/harness/paths.ts';
import {
  type AnsweredAccount,
  type AnsweredPosition,
  askAccount,
} from '../follower/as-upstream.ts';

const RECORDED_FOLDER = path.join(PROJECT, 'test/recorded');
const CORPUS = path.join(RECORDED_FOLDER, 'corpus');

type Left = 'crossMarginSummary' | 'crossMaintenanceMarginUsed' | 'withdrawable';
type RecordedPosition = Omit<AnsweredPosition, 'cumFunding'> & Partial<AnsweredPosition>;
/** Without the figures that the origin left out. */
type RecordedState = Omit<AnsweredAccount, Left | 'assetPositions'> &
  Partial<Pick<AnsweredAccount, Left>> & {
    readonly assetPositions: readonly { type: string; position: RecordedPosition }[];
  };

/** A recorded answer, with what is known of it. */
export interface RecordedAccount {
  readonly name: string;
  readonly origin: { readonly repository: string; readonly path: string };
  /** Of the answer itself, from its time. */
  readonly date: string;
  readonly about: string;
  /** What the recording lacks, or "nothing". */
  readonly cut: string;
  /** Figures that the origin left out, in whole or in part: they are not compared. */
  readonly missing?: readonly string[];
  readonly network: 'main' | 'test';
  /** What the origin says of the account, and no figure shows: a vault, a sub-account. */
  readonly forms: readonly string[];
  readonly dex: string;
  readonly userAbstraction?: string;
  readonly meta: unknown;
  readonly clearinghouseState: RecordedState;
  readonly spotClearinghouseState?: unknown;
  /** "recorded", or why it is passed on; checked by the test, so that a change is seen. */
  readonly verdict: string;
  /** Where the terms of its markets come from. */
  readonly marketsFrom: string;
  /** The spot cash behind the positions that the origin names, without a spot answer. */
  readonly givenCollateral?: string;
  /** Of one that is passed on: what we do not know of it. */
  readonly unknownRule?: string;
}

export function loadCorpus(): RecordedAccount[] {
  const files = readdirSync(CORPUS).sort();
  return files.map((file) => JSON.parse(readFileSync(path.join(CORPUS, file), 'utf8')));
}

/** A sample of which nothing can be shown: invented, edited, or cut. */
interface LeftOut {
  readonly origin: string;
  readonly what: string;
  readonly reason: string;
}

export function loadLeftOut(): LeftOut[] {
  return JSON.parse(readFileSync(path.join(RECORDED_FOLDER, 'left-out.json'), 'utf8'));
}

/** One figure of the recording and ours. */
interface CorpusFigure {
  readonly place: string;
  readonly ours: string;
  readonly theirs: string;
  readonly isSame: boolean;
}

interface FollowedAccount {
  readonly verdict: string;
  readonly figures: readonly CorpusFigure[];
}

const USER = `0x${'c0'.repeat(20)}`;
const ADDRESS = parseAddress(USER) ?? assert.fail(USER);
const DEPLOYER = `0x${'d0'.repeat(20)}`;
const EMPTY_META = { universe: [], marginTables: [] };
const RECORDED = 'recorded';

/** The follower's own code reads the account; what it reproduces is recorded, and asked for again. */
async function followRecorded(recorded: RecordedAccount): Promise<FollowedAccount> {
  const answer = completeAnswer(recorded, directoryOf(recorded));
  const comparer = new AccountComparer(recordedServer(recorded, answer), { priority: 'asked' });
  const { dex, clearinghouseState } = recorded;
  const comparison = await comparer.compare({ user: ADDRESS, dex });
  const { isReproduced, reading, directory } = comparison;
  if (!isReproduced || reading === undefined) return passOn(recorded, comparison);
  const ours = answerFromLedger(recorded, reading.rows, directory);
  const figures = compareMembers('', clearinghouseState, ours, reading.rows.collateral);
  return { verdict: RECORDED, figures: withoutCircular(recorded, figures) };
}

/** A given collateral comes from the liquidation prices, so these prices show nothing. */
function withoutCircular(
  { givenCollateral }: RecordedAccount,
  figures: readonly CorpusFigure[],
): readonly CorpusFigure[] {
  if (givenCollateral === undefined) return figures;
  return figures.filter(({ place }) => !place.endsWith('.liquidationPx'));
}

/** A server that answers what was recorded, and refuses all other questions. */
function recordedServer(recorded: RecordedAccount, account: unknown): AnswerAsker {
  const { dex, meta, userAbstraction, givenCollateral } = recorded;
  const given = { token: 0, total: givenCollateral, hold: '0.0' };
  const spot =
    recorded.spotClearinghouseState ??
    (givenCollateral === undefined ? undefined : { balances: [given] });
  const named = dex === '' ? [] : [{ name: dex, fullName: dex, deployer: DEPLOYER }];
  const answers = new Map<string, unknown>([
    ['perpDexs', [null, ...named]],
    ['allPerpMetas', dex === '' ? [meta] : [EMPTY_META, meta]],
    ['clearinghouseState', account],
    ['userAbstraction', userAbstraction],
    ['spotClearinghouseState', spot],
  ]);
  const ask = ({ type }: QuestionBody) => {
    const json = answers.get(type);
    if (json !== undefined) return Promise.resolve(json);
    const error = new UpstreamError('refused', `${type} was not recorded`, { status: 422 });
    return Promise.reject(error);
  };
  return {
    ask,
    askAnswer: async (question) => {
      const json = await ask(question);
      return { text: JSON.stringify(json), json };
    },
  };
}

function passOn(recorded: RecordedAccount, comparison: AccountComparison): FollowedAccount {
  const { figures, mismatches } = comparison;
  const open = mismatches.length > 0 ? mismatches : figures.filter(({ isSame }) => !isSame);
  const fields = [...new Set(open.map(({ field }) => field))].join(', ');
  const compared = figures.map(({ field, coin, ...rest }) => ({
    place: coin === undefined ? field : `${field} of ${coin}`,
    ...rest,
  }));
  return { verdict: `passed on: ${fields}`, figures: withoutMissing(recorded, compared) };
}

function withoutMissing(
  { missing = [] }: RecordedAccount,
  figures: readonly CorpusFigure[],
): CorpusFigure[] {
  return figures.filter(({ place }) => !missing.some((name) => place.startsWith(name)));
}

export function directoryOf({ dex, meta }: Pick<RecordedAccount, 'dex' | 'meta'>): MarketDirectory {
  const listing = readMeta(meta);
  if (listing instanceof DialectError) assert.fail(listing.message);
  const named = dex === '' ? [] : [{ name: dex, fullName: dex, deployer: DEPLOYER }];
  const dexes = { dexes: named, odd: [], json: undefined };
  return createDirectory(createState(), { dexes, metas: new Map([[dex, listing]]) });
}

/** Funding enters no other figure. */
const NO_FUNDING = { allTime: '0.0', sinceOpen: '0.0', sinceChange: '0.0' };

/** With our own figures in place of those that the origin left out. */
function completeAnswer(recorded: RecordedAccount, directory: MarketDirectory): unknown {
  const { missing = [], clearinghouseState } = recorded;
  if (missing.length === 0) return clearinghouseState;
  const { marginSummary } = clearinghouseState;
  const answer = {
    crossMarginSummary: marginSummary,
    crossMaintenanceMarginUsed: '0.0',
    ...clearinghouseState,
    withdrawable: missing.includes('withdrawable') ? '0.0' : clearinghouseState.withdrawable,
    assetPositions: clearinghouseState.assetPositions.map(({ type, position }) => ({
      type,
      position: { cumFunding: NO_FUNDING, ...position },
    })),
  };
  const reading = readAccountAnswer(answer, { dex: recorded.dex, directory, collateral: 0 });
  if (reading instanceof DialectError) assert.fail(reading.message);
  const completed: Record<string, unknown> = structuredClone(answer);
  for (const { field, coin, ours } of compareAccount(reading, directory)) {
    const [name, member] = field.split('.');
    if (coin !== undefined || !missing.includes(name)) continue;
    if (member === undefined) completed[name] = ours;
    else completed[name] = { ...(completed[name] as object), [member]: ours };
  }
  return completed;
}

function append(state: State, time: number, events: readonly unknown[]): void {
  const block = { height: state.height + 1, time, events };
  applyBlock(state, parseBlock(JSON.stringify(block)));
}

function answerFromLedger(
  { dex }: RecordedAccount,
  rows: AccountRows,
  directory: MarketDirectory,
): AnsweredAccount {
  const ledger = createState();
  const prices = new Map(
    rows.positions.map(({ market, markPrice }) => [market.coin, markPrice] as const),
  );
  append(ledger, rows.time, [{ type: 'partial' }, ...describeNewDexes(ledger, directory)]);
  append(ledger, rows.time, [...describeMarketChanges(ledger, directory, prices).events]);
  append(ledger, rows.time, describeAccountChanges(ledger, ADDRESS, rows));
  return askAccount(ledger, USER, dex);
}

/** Names, not figures. */
const TEXTS = new Set(['type', 'coin']);
const RATIOS = new Set(['returnOnEquity', 'liquidationPx']);

/** Every figure of the recording; a member that only ours has is no difference. */
function compareMembers(
  place: string,
  theirs: unknown,
  ours: unknown,
  collateral: number,
): CorpusFigure[] {
  if (Array.isArray(theirs)) {
    assert.ok(Array.isArray(ours) && ours.length === theirs.length, place);
    return theirs.flatMap((item, index) =>
      compareMembers(placeOf(place, item, index), item, ours[index], collateral),
    );
  }
  if (isJsonObject(theirs)) {
    assert.ok(isJsonObject(ours), place);
    return Object.entries(theirs).flatMap(([name, value]) => {
      if (!TEXTS.has(name) && !isLeaf(value)) {
        return compareMembers(`${place}.${name}`, value, ours[name], collateral);
      }
      const slack = RATIOS.has(name) ? slackOf(theirs, collateral) : undefined;
      return compareLeaf(`${place}.${name}`, value, ours[name], slack);
    });
  }
  assert.fail(place);
}

function placeOf(place: string, item: unknown, index: number): string {
  const position = isJsonObject(item) ? item['position'] : undefined;
  return `${place}[${isJsonObject(position) ? String(position['coin']) : index}]`;
}

function isLeaf(value: unknown): boolean {
  return value === null || typeof value !== 'object';
}

/** A collateral is kept in millionths; large doubles cancel out to a small price. */
function slackOf(position: Record<string, unknown>, collateral: number): number {
  const size = Math.abs(Number(position['szi']));
  const markPrice = Number(position['positionValue']) / size;
  return markPrice * 1e-12 + (collateral === 0 ? 0 : 1e-6 / size);
}

function compareLeaf(
  place: string,
  value: unknown,
  own: unknown,
  slack: number | undefined,
): CorpusFigure[] {
  const [theirs, ours] = [String(value), String(own)];
  const name = place.slice(place.lastIndexOf('.') + 1);
  if (TEXTS.has(name)) {
    assert.equal(ours, theirs, place);
    return [];
  }
  const isSame =
    slack === undefined ? isSameAmount(ours, theirs) : isSameRatio(ours, theirs, slack);
  return [{ place: place.slice(1), ours, theirs, isSame }];
}

/** An account of the corpus, followed, with the words for what it is. */
export interface CorpusAccount {
  readonly answer: RecordedAccount;
  readonly followed: FollowedAccount;
  readonly forms: readonly string[];
  readonly valueClass: string;
}

export function followCorpus(): Promise<CorpusAccount[]> {
  return Promise.all(
    loadCorpus().map(async (answer) => ({
      answer,
      followed: await followRecorded(answer),
      forms: formsOf(answer),
      valueClass: valueClassOf(answer),
    })),
  );
}

function formsOf(account: RecordedAccount): string[] {
  const { dex, forms, network, userAbstraction, givenCollateral, ...rest } = account;
  const { assetPositions, marginSummary } = rest.clearinghouseState;
  const modes = new Set(assetPositions.map(({ position }) => position.leverage.type));
  const isEmpty = assetPositions.length === 0;
  const cash = Number(marginSummary.totalRawUsd);
  return [
    ...(isEmpty ? [cash === 0 ? 'empty' : 'cash only'] : [...modes].sort()),
    ...(cash < 0 ? ['negative cash'] : []),
    ...(dex === '' ? [] : ['further dex']),
    ...(userAbstraction === undefined ? [] : [userAbstraction]),
    ...(givenCollateral === undefined ? [] : ['given collateral']),
    ...(network === 'test' ? ['test network'] : []),
    ...forms,
  ];
}

const VALUE_CLASSES = [
  [10_000_000, 'above 10 million'],
  [1_000_000, 'above a million'],
  [10_000, 'above 10,000'],
  [0, 'small'],
] as const;

function valueClassOf({ clearinghouseState }: RecordedAccount): string {
  const value = Number(clearinghouseState.marginSummary.accountValue);
  if (value === 0) return 'none';
  return VALUE_CLASSES.find(([from]) => value >= from)?.[1] ?? 'negative';
}
