/** The answers of the exchange's info server, as UPSTREAM's dialect has them, from a state. */

import { parseAddress } from '../../src/exact/address.ts';
import { add, formatUnits, maximum } from '../../src/exact/decimal.ts';
import { Random } from '../../src/feed/simulator/random.ts';
import { answerQuestion } from '../../src/info/registry.ts';
import { RequestError } from '../../src/info/request-error.ts';
import { findAccount } from '../../src/state/accounts.ts';
import { accountFigures } from '../../src/state/figures.ts';
import type { StateView } from '../../src/state/state.ts';
import { printAccount, printDouble } from './printed-doubles.ts';
import { addStrangeContext, addStrangeListing, addStrangePosition } from './strange-coin.ts';

export type Json = ReturnType<typeof JSON.parse>;
export type Question = Readonly<Record<string, unknown>> & { readonly type: string };

/** An answer, or how the exchange refuses the question. */
export type DialectReply =
  | { readonly kind: 'answer'; readonly json: Json }
  | { readonly kind: 'notUnderstood' }
  | { readonly kind: 'unknownDex' };

/** The largest error of figures that the exchange computes in doubles, relative: a few roundings. */
const NOISE = 6 * 2 ** -53;

export interface DialectOptions {
  /** Types that this server does not know, such as those that a node lacks. */
  readonly unknownTypes: readonly string[];
}

export class DialectAnswers {
  readonly #unknownTypes: readonly string[];
  readonly #random = new Random('noise');
  /** Lists a coin that the ledger's vocabulary cannot hold, and gives some users a position in it. */
  hasStrangeCoin = false;

  constructor({ unknownTypes }: DialectOptions) {
    this.#unknownTypes = unknownTypes;
  }

  answer(state: StateView, question: Question): DialectReply {
    if (this.#unknownTypes.includes(question.type)) return { kind: 'notUnderstood' };
    try {
      const json = this.#answer(state, question);
      return json === undefined ? { kind: 'notUnderstood' } : { kind: 'answer', json };
    } catch (error) {
      if (!(error instanceof RequestError)) throw error;
      return { kind: error.code === 'unknown_dex' ? 'unknownDex' : 'notUnderstood' };
    }
  }

  #answer(state: StateView, question: Question): Json {
    switch (question.type) {
      case 'clearinghouseState':
        return this.account(state, question);
      case 'userAbstraction':
        return describeMode(state, requireUser(question));
      case 'spotClearinghouseState':
        return describeSpot(state, requireUser(question));
      case 'meta':
        return this.#meta(state, ask(state, question), dexOf(question));
      case 'allPerpMetas':
        return this.#allMetas(state, ask(state, question));
      case 'metaAndAssetCtxs':
        return this.#metaAndContexts(state, question);
      case 'userRole':
        return { role: 'user', user: requireUser(question) };
      default:
        return CANNED.has(question.type) ? CANNED.get(question.type) : askKnown(state, question);
    }
  }

  /** A whole account, without what the exchange leaves out, its figures printed as doubles. */
  account(state: StateView, question: Question): Json {
    const account = ask(state, question);
    for (const { position } of account.assetPositions) this.#dressPosition(position);
    if (this.hasStrangeCoin) addStrangePosition(account, question);
    printAccount(account);
    return account;
  }

  #dressPosition(position: Json): void {
    if (position.leverage.type === 'cross') position.leverage.rawUsd = undefined;
    position.returnOnEquity = this.#addNoise(position.returnOnEquity);
    if (position.liquidationPx !== null) {
      position.liquidationPx = this.#addNoise(position.liquidationPx);
    }
  }

  #addNoise(text: string): string {
    return printDouble(Number(text) * (1 + this.#random.between(-NOISE, NOISE)));
  }

  /** The contexts of a dex, in the order of its meta. */
  contexts(state: StateView, dex: string): Json[] {
    const [, contexts] = ask(state, { type: 'metaAndAssetCtxs', dex });
    for (const context of contexts) context.midPx = context.markPx;
    if (this.hasStrangeCoin && dex === '') addStrangeContext(contexts);
    return contexts;
  }

  #meta(state: StateView, meta: Json, dex: string): Json {
    meta.marginTables = meta.marginTables.filter(([id]: [number]) => id >= LISTED_TABLES_FROM);
    for (const market of meta.universe) dressMarket(market, dex);
    meta.collateralToken = tokenOf(state, dex);
    if (this.hasStrangeCoin && dex === '') addStrangeListing(meta.universe);
    return meta;
  }

  #allMetas(state: StateView, metas: Json[]): Json[] {
    return metas.map((meta, index) => this.#meta(state, meta, state.markets.dexes[index].name));
  }

  #metaAndContexts(state: StateView, question: Question): Json {
    const [meta] = ask(state, question);
    const dex = dexOf(question);
    return [this.#meta(state, meta, dex), this.contexts(state, dex)];
  }
}

/** A lower number that is not listed stands for a table with that leverage as its only tier. */
const LISTED_TABLES_FROM = 50;

/** The exchange has several ways to say that a market is only isolated. */
function dressMarket(market: Json, dex: string): void {
  if (market.onlyIsolated !== true || dex === '') return;
  market.onlyIsolated = undefined;
  market.marginMode = dex === 'abc' ? 'strictIsolated' : 'noCross';
}

/** Each dex has a collateral token of its own; that of the first is USDC. */
function tokenOf({ markets }: StateView, dex: string): number {
  const index = markets.findDex(dex) ?? 0;
  return index === 0 ? 0 : 200 + index;
}

function ask(state: StateView, question: Question): Json {
  return JSON.parse(answerQuestion(state, question));
}

function dexOf({ dex = '' }: Question): string {
  return String(dex);
}

/** Types that perpinfo has and the exchange does not. */
const OURS_ONLY: readonly string[] = ['allDexsClearinghouseState', 'batchClearinghouseStates'];

function askKnown(state: StateView, question: Question): Json | undefined {
  return OURS_ONLY.includes(question.type) ? undefined : ask(state, question);
}

/** Questions that perpinfo does not hold, and passes on. */
const CANNED: ReadonlyMap<string, Json> = new Map<string, Json>([
  ['openOrders', []],
  ['frontendOpenOrders', []],
  ['userFills', []],
  ['userFillsByTime', []],
  ['historicalOrders', []],
  ['candleSnapshot', []],
  ['fundingHistory', []],
  ['l2Book', { coin: 'BTC', time: 0, levels: [[], []] }],
]);

function requireUser({ user }: Question): string {
  if (typeof user === 'string' && parseAddress(user) !== undefined) return user.toLowerCase();
  throw new RequestError('invalid_address', 'not an address', 'user');
}

/** What backs each of the user's accounts beside its own value, and that value, by dex. */
function listBackings(state: StateView, user: string) {
  const address = parseAddress(user);
  const row = address === undefined ? 0 : state.addresses.find(address);
  return state.markets.dexes.map(({ name }, dexIndex) => {
    const figures = accountFigures(state, findAccount(state, row, dexIndex));
    return { dex: name, collateral: figures.collateral, value: figures.summary.accountValue };
  });
}

function isUnified(state: StateView, user: string): boolean {
  return listBackings(state, user).some(({ collateral }) => collateral > 0);
}

function describeMode(state: StateView, user: string): string {
  if (isUnified(state, user)) return 'unifiedAccount';
  return user.endsWith('0') ? 'disabled' : 'default';
}

/** A balance that backs nothing, where the account is not unified. */
const OWN_BALANCE = { coin: 'USDC', token: 0, total: '1234.5678', hold: '0.0', entryNtl: '0.0' };

function describeSpot(state: StateView, user: string): Json {
  if (!isUnified(state, user)) return { balances: [OWN_BALANCE] };
  const balances = listBackings(state, user).map(({ dex, collateral, value }) => {
    const hold = maximum(0, value);
    return {
      coin: dex === '' ? 'USDC' : `USD${dex.toUpperCase()}`,
      token: tokenOf(state, dex),
      total: formatUnits(add(hold, collateral), 6),
      hold: printDouble(formatUnits(hold, 6)),
      entryNtl: '0.0',
    };
  });
  return { balances };
}
