/** Every type of question, and how a question is parsed. */

import { isJsonObject } from '../events/fields.ts';
import { describeValue } from '../events/refusal.ts';
import type { StateView } from '../state/state.ts';
import {
  outcomeMeta,
  spotClearinghouseState,
  spotMeta,
  spotMetaAndAssetCtxs,
} from './absent-markets.ts';
import { accountHistory } from './account-history.ts';
import { userAbstraction } from './account-mode.ts';
import { perpDeployAuctionStatus } from './auction.ts';
import { clearinghouseState } from './clearinghouse.ts';
import { delegations, delegatorSummary } from './delegations.ts';
import { perpDexs } from './dexes.ts';
import { exchangeStatus } from './exchange.ts';
import {
  formatField,
  type HistoryQuestion,
  type HistoryType,
  PastQuestion,
  readFormat,
  SeriesQuestion,
} from './history-question.ts';
import { liquidationHistory } from './liquidation-history.ts';
import { allDexsClearinghouseState, batchClearinghouseStates } from './many-accounts.ts';
import { marginTable } from './margin-tables.ts';
import { allMids, allPerpMetas, meta, metaAndAssetCtxs } from './markets.ts';
import { findMomentFault, MOMENT_FIELDS, NO_ARCHIVE, readMoment } from './moment.ts';
import { portfolio } from './portfolio.ts';
import { positionHistory } from './position-history.ts';
import {
  type Question,
  type RequestType,
  readFields,
  readOne,
  readParameters,
  readValues,
} from './request.ts';
import { RequestError, type RequestErrorCode, wrongValue } from './request-error.ts';
import { webData2 } from './web-data.ts';

/** In the order in which errors list them; a new one goes beside its subject. */
export const REQUEST_TYPES: readonly RequestType[] = [
  clearinghouseState,
  delegations,
  perpDeployAuctionStatus,
  allDexsClearinghouseState,
  batchClearinghouseStates,
  delegatorSummary,
  userAbstraction,
  meta,
  metaAndAssetCtxs,
  allPerpMetas,
  allMids,
  perpDexs,
  marginTable,
  exchangeStatus,
  spotMeta,
  spotMetaAndAssetCtxs,
  spotClearinghouseState,
  outcomeMeta,
  webData2,
];

/** Questions about a time range, which need an archive. */
const HISTORY_TYPES: readonly HistoryType[] = [
  accountHistory,
  positionHistory,
  liquidationHistory,
  portfolio,
];

/** What every type of question declares, for whoever describes the interface. */
export const ALL_TYPES: readonly (RequestType | HistoryType)[] = [
  ...REQUEST_TYPES,
  ...HISTORY_TYPES,
];

/** What a body or a query asks. */
export type AskedQuestion = Question | HistoryQuestion;

interface TypeTable {
  /** A Map, so that a type such as "constructor" finds nothing. */
  readonly byType: ReadonlyMap<unknown, RequestType | HistoryType>;
  /** The end of the error message for any other type. */
  readonly expected: string;
  /** Cached, because a client that asks for a type we do not have asks for it again and again. */
  readonly unknownTypes: Map<string, RequestError>;
}

/** Maximum number of cached refusals, and length of the types in them. */
const UNKNOWN_TYPES_MAX = 64;
const UNKNOWN_TYPE_LENGTH_MAX = 64;

function tableOf(types: readonly (RequestType | HistoryType)[]): TypeTable {
  return {
    byType: new Map<unknown, RequestType | HistoryType>(
      types.map((request) => [request.type, request]),
    ),
    expected: `expected one of ${types.map(({ type }) => type).join(', ')}`,
    unknownTypes: new Map(),
  };
}

const REQUEST_TABLE = tableOf(ALL_TYPES);
/** The types whose answers are pushed. */
const SUBSCRIPTION_TABLE = tableOf(REQUEST_TYPES.filter(({ pushedAs }) => pushedAs !== undefined));

/** The question that a body asks, or why it is refused; `name` is where the client has put it. */
export function readQuestion(body: unknown, name = 'body'): AskedQuestion | RequestError {
  const request = readTypeOf(REQUEST_TABLE, name, body);
  return request instanceof RequestError ? request : readAsked(request, body as GivenFields);
}

type GivenFields = Readonly<Record<string, unknown>>;

/** The question about the present, about a moment or about a time range. */
function readAsked(
  request: RequestType | HistoryType,
  source: GivenFields,
): AskedQuestion | RequestError {
  if ('hasCsv' in request) return readSeriesQuestion(request, source);
  const question = readFields(request, source);
  if (question instanceof RequestError) return question;
  const moment = readMoment(source);
  if (moment === undefined || moment instanceof RequestError) return moment ?? question;
  return new PastQuestion(question, moment);
}

function readSeriesQuestion(
  request: HistoryType,
  source: GivenFields,
): HistoryQuestion | RequestError {
  const fields = readValues(request, source);
  if (fields instanceof RequestError) return fields;
  const format = readFormat(request, source['format']);
  if (format instanceof RequestError) return format;
  const moment = readMoment(source);
  if (moment instanceof RequestError) return moment;
  return new SeriesQuestion(request, fields, { format, moment });
}

export function isAboutPast(question: object): question is HistoryQuestion {
  return question instanceof PastQuestion || question instanceof SeriesQuestion;
}

/**
 * The question about the present that a body asks, or throws a RequestError.
 *
 * @internal exported for tests and benchmarks
 */
export function parseQuestion(body: unknown): Question {
  const question = orThrow(readQuestion(body));
  if (isAboutPast(question)) throw NO_ARCHIVE;
  return question;
}

/** The question whose answers a subscription asks for, or throws a RequestError. */
export function parseSubscription(subscription: unknown): Question {
  const request = orThrow(readTypeOf(SUBSCRIPTION_TABLE, 'subscription', subscription));
  const source = subscription as GivenFields;
  const refusal = findMomentFault(source, 'the past is not pushed');
  return orThrow(refusal ?? readFields(request as RequestType, source));
}

function orThrow<T>(read: T | RequestError): T {
  if (read instanceof RequestError) throw read;
  return read;
}

function readTypeOf(
  table: TypeTable,
  name: string,
  value: unknown,
): RequestType | HistoryType | RequestError {
  if (isJsonObject(value)) return readType(table, value['type']);
  return wrongValue(name, value, 'an object with a type');
}

/** The question that a query string asks, or why it is refused. */
export function readQuery(parameters: URLSearchParams): AskedQuestion | RequestError {
  const types = parameters.getAll('type');
  const type = types.length === 0 ? undefined : readOne('type', types);
  if (type instanceof RequestError) return type;
  const request = readType(REQUEST_TABLE, type);
  if (request instanceof RequestError) return request;
  const source = readParameters(
    { ...MOMENT_FIELDS, format: formatField, ...request.fields },
    parameters,
  );
  return source instanceof RequestError ? source : readAsked(request, source);
}

function readType(table: TypeTable, type: unknown): RequestType | HistoryType | RequestError {
  const request = table.byType.get(type);
  if (request !== undefined) return request;
  if (typeof type === 'string') return refuseUnknownType(table, type);
  const code = type === undefined ? 'missing_field' : 'invalid_field';
  return refuseType(table, code, type);
}

function refuseUnknownType(table: TypeTable, type: string): RequestError {
  const cached = table.unknownTypes.get(type);
  if (cached !== undefined) return cached;
  const refusal = refuseType(table, 'unknown_type', type);
  if (type.length > UNKNOWN_TYPE_LENGTH_MAX) return refusal;
  if (table.unknownTypes.size === UNKNOWN_TYPES_MAX) table.unknownTypes.clear();
  table.unknownTypes.set(type, refusal);
  return refusal;
}

function refuseType({ expected }: TypeTable, code: RequestErrorCode, type: unknown): RequestError {
  return new RequestError(code, `type: got ${describeValue(type)}, ${expected}`, 'type');
}

/** Answers a question from one state, as JSON text, or throws a RequestError. */
export function answerQuestion(state: StateView, body: unknown): string {
  return parseQuestion(body).answer(state);
}
