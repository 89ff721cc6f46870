/**
 * The questions of a probe: a fixed list of types that only read. No answer of a server can add a
 * type.
 */
import type { QuestionBody } from '../../info/question.ts';

export interface ProbeSubject {
  /** In lower case. */
  readonly user: string;
  /** A traded market; undefined until markets are known. */
  readonly coin: string | undefined;
  /** This machine's clock, in milliseconds since 1970. */
  readonly nowMs: number;
}

const HOUR_MS = 3_600_000;
/** The table with one tier of maximum leverage 3: every exchange has it. */
const SINGLE_TIER = 3;

type Fields = Readonly<Record<string, unknown>>;
type FieldsOf = (subject: ProbeSubject) => Fields | undefined;

const none: FieldsOf = () => ({});
const firstDex: FieldsOf = () => ({ dex: '' });
const ofUser: FieldsOf = ({ user }) => ({ user });
const ofCoin: FieldsOf = ({ coin }) => (coin === undefined ? undefined : { coin });
const lastHour: FieldsOf = ({ nowMs }) => ({ startTime: nowMs - HOUR_MS });

/** Combines the fields of all parts; undefined if the value of one part is not known. */
function both(...parts: readonly FieldsOf[]): FieldsOf {
  return (subject) => {
    const fields = parts.map((part) => part(subject));
    return fields.includes(undefined) ? undefined : Object.assign({}, ...fields);
  };
}

/**
 * In the order in which the questions are asked. The questions that a follower needs come first.
 */
const QUESTIONS: ReadonlyMap<string, FieldsOf> = new Map([
  ['perpDexs', none],
  ['allPerpMetas', none],
  ['clearinghouseState', both(ofUser, firstDex)],
  ['exchangeStatus', none],
  ['allMids', none],
  ['metaAndAssetCtxs', firstDex],
  ['spotClearinghouseState', ofUser],
  ['userAbstraction', ofUser],
  ['delegations', ofUser],
  ['perpDeployAuctionStatus', none],
  ['meta', firstDex],
  ['l2Book', ofCoin],
  ['delegatorSummary', ofUser],
  ['openOrders', both(ofUser, firstDex)],
  ['frontendOpenOrders', both(ofUser, firstDex)],
  ['marginTable', () => ({ id: SINGLE_TIER })],
  ['batchClearinghouseStates', ({ user }) => ({ users: [user] })],
  ['allDexsClearinghouseState', ofUser],
  ['webData2', ofUser],
  ['spotMeta', none],
  ['spotMetaAndAssetCtxs', none],
  ['outcomeMeta', none],
  ['predictedFundings', none],
  ['perpsAtOpenInterestCap', none],
  ['perpDexStatus', firstDex],
  ['perpDexLimits', firstDex],
  ['userRateLimit', ofUser],
  ['userFees', ofUser],
  ['portfolio', ofUser],
  ['subAccounts', ofUser],
  ['userFunding', both(ofUser, lastHour)],
  ['fundingHistory', both(ofCoin, lastHour)],
  ['recentTrades', ofCoin],
  ['userRole', ofUser],
]);

export function listProbeTypes(): string[] {
  return [...QUESTIONS.keys()];
}

/** Undefined if the question needs a value that is not known. */
export function makeProbeQuestion(type: string, subject: ProbeSubject): QuestionBody | undefined {
  const fields = QUESTIONS.get(type)?.(subject);
  return fields === undefined ? undefined : { type, ...fields };
}
