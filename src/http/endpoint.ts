/**
 * The endpoint: a question as the body of a POST, or in the query of a GET, which says the same
 * with a tag, so that whoever polls is not sent again what it has.
 */

import type { IncomingMessage, ServerResponse } from 'node:http';
import { hashSecret, type Key } from '../access/keys.ts';
import type { Settings } from '../config/settings.ts';
import { describeValue } from '../events/refusal.ts';
import { parseQuery, parseQuestion } from '../info/registry.ts';
import type { Question } from '../info/request.ts';
import { RequestError } from '../info/request-error.ts';
import type { LiveState } from '../replica/live-state.ts';
import { type Admission, noKeyGiven } from './admission.ts';
import { answerTag, namesTag } from './answer-tag.ts';
import { checkDeclaredLength, checkMediaType, parseBody, readBody } from './body.ts';
import { allowanceHeaders, type Headers, ledgerHeaders, send, sendUnchanged } from './respond.ts';
import { queryOf } from './router.ts';

/** One request on its way; what is learned of it is filled in. */
export interface Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly startedMs: number;
  type: string;
  key: Key | undefined;
}

export interface EndpointParts {
  readonly live: LiveState;
  readonly admission: Admission;
  readonly settings: Settings<'minHeightWait' | 'bodyBytesMax'>;
}

/** The address of a question holds a key, and its answer is soon an old one: nobody keeps it. */
const POLLING_HEADERS: Headers = { 'Cache-Control': 'private, no-cache' };

export class Endpoint {
  readonly #parts: EndpointParts;

  constructor(parts: EndpointParts) {
    this.#parts = parts;
  }

  /**
   * Answers, or refuses by throwing. Whatever can be told from the headers is told at once, before
   * anything that comes after them is looked at; a promise is there only where something is waited for.
   */
  answer(exchange: Exchange, secret: string): Promise<void> | undefined {
    if (secret === '') throw noKeyGiven();
    const secretHash = hashSecret(secret);
    exchange.key = this.#parts.admission.requireKey(secretHash);
    if (exchange.request.method !== 'POST') return this.#answerQuestion(exchange, secretHash);
    return this.#readBody(exchange).then((body) => {
      // Meanwhile the key may have been revoked.
      exchange.key = this.#parts.admission.requireKey(secretHash);
      return this.#answerQuestion(exchange, secretHash, body);
    });
  }

  #readBody({ request, response }: Exchange): Promise<Buffer> {
    const { bodyBytesMax } = this.#parts.settings;
    checkMediaType(request);
    const isWaiting = awaitsConsent(request);
    checkDeclaredLength(request, bodyBytesMax, { isWaiting });
    checkExpectation(request);
    if (isWaiting) response.writeContinue();
    return readBody(request, bodyBytesMax);
  }

  #answerQuestion(
    exchange: Exchange,
    secretHash: string,
    body?: Buffer,
  ): Promise<void> | undefined {
    const { live, settings } = this.#parts;
    const question = readQuestion(exchange.request, body);
    exchange.type = question.type;
    const minHeight = readMinHeight(exchange.request);
    if (live.state !== undefined) question.validate(live.state);
    this.#admit(exchange, secretHash, question);
    if (minHeight === 0 || live.state === undefined)
      return this.#finish(exchange, question, minHeight);
    return live.waitFor(minHeight, settings.minHeightWait).then(() => {
      // Meanwhile it may have been revoked, or spent on other questions.
      this.#admit(exchange, secretHash, question);
      this.#finish(exchange, question, minHeight);
    });
  }

  #admit(exchange: Exchange, secretHash: string, question: Question): void {
    const { admission } = this.#parts;
    exchange.key = admission.requireKey(secretHash);
    admission.checkBudget(exchange.key, question.weight);
  }

  #finish(exchange: Exchange, question: Question, minHeight: number): undefined {
    const { admission } = this.#parts;
    const state = admission.requireState(minHeight);
    admission.checkLoad();
    const answer = question.answer(state);
    const allowance = exchange.key && admission.charge(exchange.key, question.weight);
    const headers = { ...ledgerHeaders(state), ...allowanceHeaders(allowance) };
    if (exchange.request.method === 'POST') send(exchange.response, 200, answer, headers);
    else sendPolled(exchange, answer, headers);
  }
}

function readQuestion({ url = '' }: IncomingMessage, body: Buffer | undefined): Question {
  if (body !== undefined) return parseQuestion(parseBody(body));
  return parseQuery(new URLSearchParams(queryOf(url)));
}

/** The answer, or only that it is still the one that the client has. */
function sendPolled({ request, response }: Exchange, answer: string, known: Headers): void {
  const tag = answerTag(answer);
  const headers = { ...known, ...POLLING_HEADERS, ETag: tag };
  if (namesTag(request.headers['if-none-match'], tag)) sendUnchanged(response, headers);
  else send(response, 200, answer, headers);
}

/** Whether the client asks before it sends the body; in HTTP/1.0 nobody would understand consent. */
export function awaitsConsent({ httpVersion, headers }: IncomingMessage): boolean {
  return headers.expect !== undefined && httpVersion === '1.1';
}

function checkExpectation({ headers }: IncomingMessage): void {
  if (headers.expect === undefined || /^100-continue$/i.test(headers.expect)) return;
  const message = `Expect: got ${describeValue(headers.expect)}, expected 100-continue or nothing`;
  throw new RequestError('malformed_request', message, 'Expect');
}

function readMinHeight({ headers }: IncomingMessage): number {
  const given = headers['ledger-min-height'];
  if (given === undefined) return 0;
  if (typeof given === 'string' && /^\d{1,15}$/.test(given)) return Number(given);
  const message = `Ledger-Min-Height: got ${describeValue(given)}, expected a whole number`;
  throw new RequestError('invalid_field', message, 'Ledger-Min-Height');
}
