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
import {
  parseFields,
  type Question,
  type RequestType,
  readParameters,
  requireOne,
} from './request.ts';
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

/** The question that a body asks, or a RequestError. */
export function parseQuestion(body: unknown): Question {
  return parseTyped(REQUEST_TABLE, 'body', body);
}

/** The question whose answers a subscription asks for, or a RequestError. */
export function parseSubscription(subscription: unknown): Question {
  return parseTyped(SUBSCRIPTION_TABLE, 'subscription', subscription);
}

function parseTyped(table: TypeTable, name: string, value: unknown): Question {
  if (!isJsonObject(value)) {
    const message = `${name}: got ${describeValue(value)}, expected an object with a type`;
    throw new RequestError('invalid_field', message, name);
  }
  return parseFields(requireType(table, value['type']), value);
}

/** The question that a query string asks, or a RequestError. */
export function parseQuery(parameters: URLSearchParams): Question {
  const types = parameters.getAll('type');
  const type = types.length === 0 ? undefined : requireOne('type', types);
  const request = requireType(REQUEST_TABLE, type);
  return parseFields(request, readParameters(request, parameters));
}

function requireType({ byType, expected }: TypeTable, type: unknown): RequestType {
  const request = byType.get(type);
  if (request !== undefined) return request;
  const message = `type: got ${describeValue(type)}, ${expected}`;
  if (type === undefined) throw new RequestError('missing_field', message, 'type');
  throw new RequestError(
    typeof type === 'string' ? 'unknown_type' : 'invalid_field',
    message,
    'type',
  );
}

/** Answers a question from one state, as JSON text, or throws a RequestError. */
export function answerQuestion(state: StateView, body: unknown): string {
  return parseQuestion(body).answer(state);
}
