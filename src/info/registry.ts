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
import { perpDeployAuctionStatus } from './auction.ts';
import { clearinghouseState } from './clearinghouse.ts';
import { delegations, delegatorSummary } from './delegations.ts';
import { perpDexs } from './dexes.ts';
import { exchangeStatus, userAbstraction } from './exchange.ts';
import { allDexsClearinghouseState, batchClearinghouseStates } from './many-accounts.ts';
import { marginTable } from './margin-tables.ts';
import { allMids, allPerpMetas, meta, metaAndAssetCtxs } from './markets.ts';
import { type Question, type RequestType, readFields, readOne, readParameters } from './request.ts';
import { RequestError, type RequestErrorCode } from './request-error.ts';
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

interface TypeTable {
  /** A Map, so that a type such as "constructor" finds nothing. */
  readonly byType: ReadonlyMap<unknown, RequestType>;
  /** The end of the error message for any other type. */
  readonly expected: string;
  /** Cached, because a client that asks for a type we do not have asks for it again and again. */
  readonly unknownTypes: Map<string, RequestError>;
}

/** Maximum number of cached refusals, and length of the types in them. */
const UNKNOWN_TYPES_MAX = 64;
const UNKNOWN_TYPE_LENGTH_MAX = 64;

function tableOf(types: readonly RequestType[]): TypeTable {
  return {
    byType: new Map<unknown, RequestType>(types.map((request) => [request.type, request])),
    expected: `expected one of ${types.map(({ type }) => type).join(', ')}`,
    unknownTypes: new Map(),
  };
}

const REQUEST_TABLE = tableOf(REQUEST_TYPES);
/** The types whose answers are pushed. */
const SUBSCRIPTION_TABLE = tableOf(REQUEST_TYPES.filter(({ pushedAs }) => pushedAs !== undefined));

/** The question that a body asks, or why it is refused. */
export function readQuestion(body: unknown): Question | RequestError {
  return readTyped(REQUEST_TABLE, 'body', body);
}

/**
 * As readQuestion, but throws the refusal.
 *
 * @internal exported for tests and benchmarks
 */
export function parseQuestion(body: unknown): Question {
  return orThrow(readQuestion(body));
}

/** The question whose answers a subscription asks for, or throws a RequestError. */
export function parseSubscription(subscription: unknown): Question {
  return orThrow(readTyped(SUBSCRIPTION_TABLE, 'subscription', subscription));
}

function orThrow(question: Question | RequestError): Question {
  if (question instanceof RequestError) throw question;
  return question;
}

function readTyped(table: TypeTable, name: string, value: unknown): Question | RequestError {
  if (!isJsonObject(value)) {
    const message = `${name}: got ${describeValue(value)}, expected an object with a type`;
    return new RequestError('invalid_field', message, name);
  }
  const request = readType(table, value['type']);
  return request instanceof RequestError ? request : readFields(request, value);
}

/** The question that a query string asks, or why it is refused. */
export function readQuery(parameters: URLSearchParams): Question | RequestError {
  const types = parameters.getAll('type');
  const type = types.length === 0 ? undefined : readOne('type', types);
  if (type instanceof RequestError) return type;
  const request = readType(REQUEST_TABLE, type);
  if (request instanceof RequestError) return request;
  const source = readParameters(request, parameters);
  return source instanceof RequestError ? source : readFields(request, source);
}

function readType(table: TypeTable, type: unknown): RequestType | RequestError {
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
