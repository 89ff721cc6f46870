/** Every type of question there is, and the one way in. */

import { RequestError } from '../errors.ts';
import { describeValue } from '../event.ts';
import type { StateView } from '../state/state.ts';
import { perpDeployAuctionStatus } from './auction.ts';
import { clearinghouseState } from './clearinghouse.ts';
import { delegations } from './delegations.ts';
import { answerRequest } from './request.ts';

type Source = Readonly<Record<string, unknown>>;
type Answer = (state: StateView, source: Source) => string;

/** A Map, so that a type such as "constructor" finds nothing. */
const ANSWERS = new Map<unknown, Answer>([
  [clearinghouseState.type, (state, source) => answerRequest(clearinghouseState, state, source)],
  [delegations.type, (state, source) => answerRequest(delegations, state, source)],
  [
    perpDeployAuctionStatus.type,
    (state, source) => answerRequest(perpDeployAuctionStatus, state, source),
  ],
]);

/** Answers a parsed question from one state, as JSON text, or throws a RequestError. */
export function answerQuestion(state: StateView, question: unknown): string {
  if (typeof question !== 'object' || question === null || Array.isArray(question)) {
    const message = `body: got ${describeValue(question)}, expected an object with a type`;
    throw new RequestError('invalid_field', message, 'body');
  }
  const source = question as Source;
  const { type } = source;
  const answer = ANSWERS.get(type);
  return answer === undefined ? refuseType(type) : answer(state, source);
}

function refuseType(type: unknown): never {
  const expected = `one of ${[...ANSWERS.keys()].join(', ')}`;
  const code =
    type === undefined
      ? 'missing_field'
      : typeof type === 'string'
        ? 'unknown_type'
        : 'invalid_field';
  throw new RequestError(code, `type: got ${describeValue(type)}, expected ${expected}`, 'type');
}
