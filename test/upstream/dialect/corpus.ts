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
import { applyBlock } from '../../../src/state/fold.ts';
import { createState, type State } from '../../../src/state/state.ts';
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
  hasKnownRules,
  readCollateral,
  UNIFIED_MODE,
} from '../../../src/upstream/dialect/spot-answer.ts';
import {
  AccountJudge,
  type JudgedAccount,
} from '../../../src/upstream/follower/accounts/account-judge.ts';
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
  /** Of one that is passed on: what we do not know of it. */
  readonly unknownRule?: string;
}

function loadCorpus(): RecordedAccount[] {
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
const RECORDED = 'recorded';

/** As a follower would: what our rules reproduce is recorded and answered from the ledger. */
function followRecorded(recorded: RecordedAccount): FollowedAccount {
  const directory = directoryOf(recorded);
  const answer = completeAnswer(recorded, directory);
  const judged = judge(recorded, answer, directory);
  if (judged.kind !== 'checked') {
    const fields = (judged.mismatches ?? []).map(({ field }) => field);
    return passOn(nameFields(fields), compareFigures(recorded, answer, directory));
  }
  const { rows } = judged;
  const ours = answerFromLedger(recorded, rows, directory);
  const figures = compareMembers('', recorded.clearinghouseState, ours, rows.collateral);
  return { verdict: RECORDED, figures };
}

/** As account-reader.ts does, with the mode and the spot answer that were recorded with the account. */
function judge(
  { dex, userAbstraction = 'default', spotClearinghouseState }: RecordedAccount,
  answer: unknown,
  directory: MarketDirectory,
): JudgedAccount {
  const time = { note: () => undefined };
  const accountJudge = new AccountJudge({ ledger: createState(), pending: { directory }, time });
  const watched = { item: { kind: 'account', user: USER, dex }, address: ADDRESS } as const;
  const judged = accountJudge.judge(answer, watched, { areMarketsNew: true });
  if (judged.kind === 'failed') return judged;
  if (judged.kind === 'checked' && judged.rows.isCollateralShown) return judged;
  if (!hasKnownRules(userAbstraction)) {
    const mismatch = { field: 'userAbstraction', coin: undefined, ours: '', theirs: '' };
    return {
      kind: 'unchecked',
      time: 0,
      mismatches: [mismatch],
      isCollateralMissing: false,
      isKnownForm: false,
    };
  }
  if (userAbstraction !== UNIFIED_MODE || spotClearinghouseState === undefined) return judged;
  return accountJudge.judgeWith(answer, watched, [
    ({ reported }) =>
      readCollateral(spotClearinghouseState, directory.collateralTokenOf(dex), reported),
  ]);
}

/** The figures of an account that is passed on, without a collateral. */
function compareFigures(
  recorded: RecordedAccount,
  answer: unknown,
  directory: MarketDirectory,
): CorpusFigure[] {
  const reading = readAccountAnswer(answer, { dex: recorded.dex, directory });
  if (reading instanceof DialectError) return [];
  const figures = compareAccount(reading, directory).map(({ field, coin, ...rest }) => ({
    place: coin === undefined ? field : `${field} of ${coin}`,
    ...rest,
  }));
  return withoutMissing(recorded, figures);
}

function passOn(reason: string, figures: readonly CorpusFigure[]): FollowedAccount {
  return { verdict: `passed on: ${reason}`, figures };
}

function nameFields(fields: readonly string[]): string {
  return [...new Set(fields)].join(', ');
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
  const deployer = `0x${'d0'.repeat(20)}`;
  const named = dex === '' ? [] : [{ name: dex, fullName: dex, deployer }];
  const dexes = { dexes: named, odd: [], json: undefined };
  return createDirectory(createState(), { dexes, metas: new Map([[dex, listing]]) });
}

/** Funding enters no other figure. */
const NO_FUNDING = { allTime: '0.0', sinceOpen: '0.0', sinceChange: '0.0' };

/** With our own figures in place of those that the origin left out. */
function completeAnswer(recorded: RecordedAccount, directory: MarketDirectory): unknown {
  const { missing = [], clearinghouseState } = recorded;
  if (missing.length === 0) return clearinghouseState;
  const answer = {
    crossMarginSummary: clearinghouseState.marginSummary,
    crossMaintenanceMarginUsed: '0.0',
    withdrawable: '0.0',
    ...clearinghouseState,
    assetPositions: clearinghouseState.assetPositions.map(({ type, position }) => ({
      type,
      position: { cumFunding: NO_FUNDING, ...position },
    })),
  };
  const context = { dex: recorded.dex, directory, collateral: 0 };
  const reading = readAccountAnswer(answer, context);
  if (reading instanceof DialectError) return answer;
  const figures = compareAccount(reading, directory);
  const ours = (name: string) => figures.find(({ field }) => field === name)?.ours;
  return { ...answer, crossMaintenanceMarginUsed: ours('crossMaintenanceMarginUsed') };
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

export function followCorpus(): CorpusAccount[] {
  return loadCorpus().map((answer) => ({
    answer,
    followed: followRecorded(answer),
    forms: formsOf(answer),
    valueClass: valueClassOf(answer),
  }));
}

function formsOf({ dex, forms, network, userAbstraction, ...rest }: RecordedAccount): string[] {
  const { assetPositions, marginSummary } = rest.clearinghouseState;
  const modes = new Set(assetPositions.map(({ position }) => position.leverage.type));
  const isEmpty = assetPositions.length === 0;
  const cash = Number(marginSummary.totalRawUsd);
  return [
    ...(isEmpty ? [cash === 0 ? 'empty' : 'cash only'] : [...modes].sort()),
    ...(cash < 0 ? ['negative cash'] : []),
    ...(dex === '' ? [] : ['further dex']),
    ...(userAbstraction === undefined ? [] : [userAbstraction]),
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
