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
import { RequestError } from './request-error.ts';
import { webData2 } from './web-data.ts';

/** In the order of the documentation. */
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
}

function tableOf(types: readonly RequestType[]): TypeTable {
  return {
    byType: new Map<unknown, RequestType>(types.map((request) => [request.type, request])),
    expected: `expected one of ${types.map(({ type }) => type).join(', ')}`,
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

function readType({ byType, expected }: TypeTable, type: unknown): RequestType | RequestError {
  const request = byType.get(type);
  if (request !== undefined) return request;
  const message = `type: got ${describeValue(type)}, ${expected}`;
  if (type === undefined) return new RequestError('missing_field', message, 'type');
  const code = typeof type === 'string' ? 'unknown_type' : 'invalid_field';
  return new RequestError(code, message, 'type');
}

/** Answers a question from one state, as JSON text, or throws a RequestError. */
export function answerQuestion(state: StateView, body: unknown): string {
  return parseQuestion(body).answer(state);
}
