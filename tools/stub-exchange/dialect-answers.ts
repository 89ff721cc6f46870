/**
 * The answers of the exchange's info server, in the dialect of the upstream, computed from a state.
 */

import { parseAddress } from '../../src/exact/address.ts';
import { answerQuestion } from '../../src/info/read-question.ts';
import { RequestError } from '../../src/info/request-error.ts';
import { Random } from '../../src/simulator/random.ts';
import type { StateView } from '../../src/state/state.ts';
import { DialectMarkets } from './dialect-markets.ts';
import { describeMode, describeSpot, hasOtherRules } from './dialect-modes.ts';
import { DEX_ANSWERS, EMPTY_BOOK, USER_LISTS } from './fixed-answers.ts';
import { addIsolatedLeg } from './isolated-leg.ts';
import { printAccount, printDouble } from './printed-doubles.ts';
import { addStrangePosition } from './strange-coin.ts';

export type Json = ReturnType<typeof JSON.parse>;
export type Question = Readonly<Record<string, unknown>> & { readonly type: string };

/** An answer, or how the exchange refuses the question. */
export type DialectReply =
  | { readonly kind: 'answer'; readonly json: Json }
  | { readonly kind: 'notUnderstood' }
  /** The dex or the coin does not exist. */
  | { readonly kind: 'unknown' };

/** The largest relative error of figures that the exchange computes in doubles: a few roundings. */
const NOISE = 6 * 2 ** -53;

/** A user without an account on any dex. */
const NOBODY = `0x${'0'.repeat(40)}`;

/** The error that the question names a dex or a coin that does not exist. */
class UnknownName extends Error {}

export interface DialectOptions {
  /** The types that this server does not know, for example because a node does not have them. */
  readonly unknownTypes: readonly string[];
}

export class DialectAnswers {
  readonly #unknownTypes: readonly string[];
  readonly #random = new Random('noise');
  readonly markets = new DialectMarkets();

  constructor({ unknownTypes }: DialectOptions) {
    this.#unknownTypes = unknownTypes;
  }

  /**
   * Lists a coin whose name the ledger does not allow, and gives some users a position in this
   * coin.
   */
  set hasStrangeCoin(hasIt: boolean) {
    this.markets.hasStrangeCoin = hasIt;
  }

  answer(state: StateView, question: Question): DialectReply {
    if (this.#unknownTypes.includes(question.type)) return { kind: 'notUnderstood' };
    try {
      const json = this.#answer(state, question);
      return json === undefined ? { kind: 'notUnderstood' } : { kind: 'answer', json };
    } catch (error) {
      if (error instanceof UnknownName) return { kind: 'unknown' };
      if (!(error instanceof RequestError)) throw error;
      return { kind: 'notUnderstood' };
    }
  }

  #answer(state: StateView, question: Question): Json {
    switch (question.type) {
      case 'clearinghouseState':
        return this.account(state, question);
      case 'userAbstraction':
        return describeMode(state, requireUser(question));
      case 'spotClearinghouseState':
        return describeSpot(state, requireUser(question), this.markets);
      case 'userRole':
        requireUser(question);
        return { role: 'user' };
      case 'perpDexLimits':
      case 'perpDexStatus':
        return this.#hasDex(state, question) ? DEX_ANSWERS[question.type] : null;
      case 'l2Book':
        return this.#hasCoin(state, question) ? { ...EMPTY_BOOK, coin: question['coin'] } : null;
      case 'fundingHistory':
        if (!this.#hasCoin(state, question)) throw new UnknownName();
        return [];
      default:
        return this.#answerOnMarkets(state, question);
    }
  }

  #answerOnMarkets(state: StateView, question: Question): Json {
    const dex = dexOf(question);
    const { markets } = this;
    switch (question.type) {
      case 'perpDexs':
        return markets.perpDexs(state);
      case 'allPerpMetas':
        return markets.allPerpMetas(state);
      case 'meta':
        this.#requireDex(state, question);
        return markets.meta(state, dex);
      case 'metaAndAssetCtxs':
        this.#requireDex(state, question);
        return [markets.meta(state, dex), markets.contexts(state, dex)];
      case 'allMids':
        this.#requireDex(state, question);
        return markets.mids(state, dex);
      default:
        return USER_LISTS.get(question.type) ?? askKnown(state, question);
    }
  }

  #hasDex(state: StateView, question: Question): boolean {
    return this.markets.dexNames(state).includes(dexOf(question));
  }

  #requireDex(state: StateView, question: Question): void {
    if (!this.#hasDex(state, question)) throw new UnknownName();
  }

  #hasCoin(state: StateView, { coin }: Question): boolean {
    if (typeof coin === 'string') return this.markets.hasCoin(state, coin);
    throw new RequestError('invalid_field', 'not a coin', 'coin');
  }

  /**
   * Returns a whole account as the exchange prints it: without the members that the exchange leaves
   * out, and with figures as doubles.
   */
  account(state: StateView, question: Question): Json {
    this.#requireDex(state, question);
    const isInTruth = state.markets.findDex(dexOf(question)) !== undefined;
    // No user has an account on the other dexes.
    const asked = isInTruth ? question : { ...question, user: NOBODY, dex: '' };
    const account = ask(state, asked);
    for (const { position } of account.assetPositions) this.#dressPosition(position);
    if (hasOtherRules(requireUser(question))) moveLiquidations(account);
    if (this.markets.hasStrangeCoin) addStrangePosition(account, question);
    printAccount(account);
    addIsolatedLeg(account, asked);
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
}

/**
 * The factor by which liquidation prices differ in modes in which cross positions are liquidated by
 * another rule.
 */
const OTHER_RULE_FACTOR = 0.97;

function moveLiquidations(account: Json): void {
  for (const { position } of account.assetPositions) {
    const { liquidationPx, leverage } = position;
    if (liquidationPx === null || leverage.type !== 'cross') continue;
    position.liquidationPx = printDouble(Number(liquidationPx) * OTHER_RULE_FACTOR);
  }
}

function ask(state: StateView, question: Question): Json {
  return JSON.parse(answerQuestion(state, question));
}

function dexOf({ dex = '' }: Question): string {
  return String(dex);
}

/** The types that perpinfo has and the exchange does not have. */
const OURS_ONLY: readonly string[] = ['allDexsClearinghouseState', 'batchClearinghouseStates'];

function askKnown(state: StateView, question: Question): Json | undefined {
  return OURS_ONLY.includes(question.type) ? undefined : ask(state, question);
}

function requireUser({ user }: Question): string {
  if (typeof user === 'string' && parseAddress(user) !== undefined) return user.toLowerCase();
  throw new RequestError('invalid_address', 'not an address', 'user');
}
