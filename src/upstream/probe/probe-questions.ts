/**
 * The questions of a probe. They are types of our interface that only read. No answer of a server
 * can add a type.
 *
 * The questions that a follower needs are asked first. Then the probe asks the forwarded types
 * whose fields it can fill in. It leaves out three groups of types: types that need a value that
 * the probe does not have, such as an order, a vault or a token; types whose weight grows with the
 * rows of the answer, because one long history would use up the small budget; and types of our
 * archive, because no other server has them. `fileSnapshot`, which makes a server write a file, is
 * not a type of our interface.
 */
import type { QuestionBody } from '../../info/question.ts';
import type { UpstreamQuestionType } from '../../info/question-type.ts';
import { UPSTREAM_TYPES } from '../../info/question-types.ts';
import { PUBLIC_WEIGHTS } from '../../info/upstream-weights.ts';

export interface ProbeSubject {
  /** The address of the user, in lower case. */
  readonly user: string;
  /** A traded market; undefined until markets are known. */
  readonly coin: string | undefined;
  /** The time of this machine's clock, in milliseconds since 1970. */
  readonly nowMs: number;
}

const HOUR_MS = 3_600_000;
/** The number of the table with one tier of maximum leverage 3. Every exchange has this table. */
const SINGLE_TIER = 3;

type Fields = Readonly<Record<string, unknown>>;
type FieldsOf = (subject: ProbeSubject) => Fields | undefined;

const none: FieldsOf = () => ({});
const firstDex: FieldsOf = () => ({ dex: '' });
const ofUser: FieldsOf = ({ user }) => ({ user });
const ofCoin: FieldsOf = ({ coin }) => (coin === undefined ? undefined : { coin });
const lastHour: FieldsOf = ({ nowMs }) => ({ startTime: nowMs - HOUR_MS });

/**
 * Combines the fields of all parts. The result is undefined if the value of a part is not known.
 */
function both(...parts: readonly FieldsOf[]): FieldsOf {
  return (subject) => {
    const fields = parts.map((part) => part(subject));
    return fields.includes(undefined) ? undefined : Object.assign({}, ...fields);
  };
}

/**
 * The types in the order in which they are asked. The questions that a follower needs come first.
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

/** Values for the required fields of forwarded types, by the name of the field. */
const FIELDS: Readonly<Record<string, FieldsOf>> = {
  user: ofUser,
  coin: ofCoin,
  startTime: lastHour,
};

/**
 * Returns undefined if the probe has no value for a required field, or if the weight of the
 * question grows with the rows of its answer.
 */
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

/** Returns the question; returns undefined if it needs a value that is not known. */
export function makeProbeQuestion(type: string, subject: ProbeSubject): QuestionBody | undefined {
  const fields = ALL_QUESTIONS.get(type)?.(subject);
  return fields === undefined ? undefined : { type, ...fields };
}
