/**
 * The questions of a probe: types of our own interface that only read. No answer of a server can
 * add a type.
 *
 * After the questions that a follower needs come the forwarded types whose fields the probe can
 * fill in. The others are left out: those that need a value that the probe does not have, such as
 * an order, a vault or a token; those whose weight grows with the rows of the answer, since one
 * long history would use up the small budget; those of our archive, since no other server has them.
 * `fileSnapshot`, with which a server writes a file, is not a type of our interface.
 */
import type { QuestionBody } from '../../info/question.ts';
import type { UpstreamQuestionType } from '../../info/question-type.ts';
import { UPSTREAM_TYPES } from '../../info/question-types.ts';
import { PUBLIC_WEIGHTS } from '../../info/upstream-weights.ts';

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

/** By name of the field: values for the required fields of forwarded types. */
const FIELDS: Readonly<Record<string, FieldsOf>> = {
  user: ofUser,
  coin: ofCoin,
  startTime: lastHour,
};

/** Undefined if the probe has no value for a required field, or if the weight grows with the rows. */
function deriveFields({ type, fields, weight }: UpstreamQuestionType): FieldsOf | undefined {
  const required = Object.entries(fields).filter(
    ([, { isOptional, fallback }]) => isOptional !== true && fallback === undefined,
  );
  const parts = required.flatMap(([name]) => FIELDS[name] ?? []);
  const isComplete = parts.length === required.length;
  return isComplete && PUBLIC_WEIGHTS.maxOf(type) <= weight ? both(...parts) : undefined;
}

const DERIVED: readonly (readonly [string, FieldsOf])[] = UPSTREAM_TYPES.flatMap((questionType) => {
  const fields = deriveFields(questionType);
  const { type } = questionType;
  return fields === undefined || QUESTIONS.has(type) ? [] : [[type, fields] as const];
});
const ALL_QUESTIONS: ReadonlyMap<string, FieldsOf> = new Map([...QUESTIONS, ...DERIVED]);

export function listProbeTypes(): string[] {
  return [...ALL_QUESTIONS.keys()];
}

/** Undefined if the question needs a value that is not known. */
export function makeProbeQuestion(type: string, subject: ProbeSubject): QuestionBody | undefined {
  const fields = ALL_QUESTIONS.get(type)?.(subject);
  return fields === undefined ? undefined : { type, ...fields };
}
