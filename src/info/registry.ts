/** Every type of question there is, and the one way in. */

import { RequestError } from '../errors.ts';
import { describeValue } from '../refusal.ts';
import type { StateView } from '../state/state.ts';
import { perpDeployAuctionStatus } from './auction.ts';
import { clearinghouseState } from './clearinghouse.ts';
import { delegations } from './delegations.ts';
import { parseFields, type Question, type RequestType } from './request.ts';

type Source = Readonly<Record<string, unknown>>;

/** In the order in which they are described to others. */
export const REQUEST_TYPES: readonly RequestType[] = [
  clearinghouseState,
  delegations,
  perpDeployAuctionStatus,
];

/** A Map, so that a type such as "constructor" finds nothing. */
const REQUEST_BY_TYPE = new Map<unknown, RequestType>(
  REQUEST_TYPES.map((request) => [request.type, request]),
);

/** The question that a body asks, or a RequestError. */
export function parseQuestion(body: unknown): Question {
  if (typeof body !== 'object' || body === null || Array.isArray(body)) {
    const message = `body: got ${describeValue(body)}, expected an object with a type`;
    throw new RequestError('invalid_field', message, 'body');
  }
  const source = body as Source;
  const request = REQUEST_BY_TYPE.get(source['type']);
  return request === undefined ? refuseType(source['type']) : parseFields(request, source);
}

function refuseType(type: unknown): never {
  const expected = `one of ${REQUEST_TYPES.map((request) => request.type).join(', ')}`;
  const message = `type: got ${describeValue(type)}, expected ${expected}`;
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
