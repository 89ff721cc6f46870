/** Parses the question that a transport has read: a POST's body, a query string, or parsed JSON. */

import { isUtf8 } from 'node:buffer';
import { describeValue } from '../../events/refusal.ts';
import type { Address } from '../../exact/address.ts';
import { readAccountQuery, readAccountQuestion } from '../../info/account-question.ts';
import type { AnswerWriter } from '../../info/answer-writer.ts';
import { clearinghouseState } from '../../info/clearinghouse.ts';
import type { HistoryQuestion } from '../../info/history-question.ts';
import { type Readings, requireKnown } from '../../info/readings.ts';
import { readQuery, readQuestion } from '../../info/registry.ts';
import { RequestError } from '../../info/request-error.ts';
import type { Subject } from '../../info/subject.ts';
import { findAccount } from '../../state/accounts.ts';
import { accountChangedAt } from '../../state/changed-at.ts';
import type { StateView } from '../../state/state.ts';
import { findExcess, findQueryExcess, isLengthy } from '../message/parse-limits.ts';
import type { AccountAnswers } from './account-answers.ts';
import { type ForwardRequest, readForwardQuery, readForwardRequest } from './forwarding.ts';

/** A question ready to be answered; those of the registry (info/registry.ts) are such. */
export interface ParsedQuestion {
  readonly type: string;
  readonly weight: number;
  /** Throws a RequestError if the state cannot answer it. */
  validate(state: StateView): void;
  /** The accounts and delegations that the answer is about; throws what `validate` throws. */
  subjects(state: StateView): readonly Subject[];
  /** The height since which the state's answer, apart from its time, has been the same, or later. */
  changedAt(state: StateView): number;
  /** Estimated bytes of a long answer; undefined if the answer is not long. */
  readonly bytesExpected?: number | undefined;
  /** Writes a long answer, with pauses. */
  writePieces?(out: AnswerWriter, state: StateView, readings?: Readings): Iterator<number>;
  /** The answer as text, or in the cache of account answers. */
  answer(
    state: StateView,
    readings: Readings | undefined,
    accounts: AccountAnswers,
  ): string | AccountAnswers;
}

/** What a request asks: the state, the archive, or the exchange behind the service. */
export type AnyQuestion = ParsedQuestion | HistoryQuestion | ForwardRequest | RequestError;

/** An unparsed question; `read` parses it, also as one to forward if that is on. */
export interface QuestionSource {
  /** In bytes, with what is around it. */
  readonly length: number;
  read(forwards: boolean): AnyQuestion;
}

const FIRST_DEX = 0;

/** The most frequent question, made fast: no object for its fields, and cached answers. */
class AccountQuestion implements ParsedQuestion {
  readonly #user: Address;

  constructor(user: Address) {
    this.#user = user;
  }

  get type(): string {
    return clearinghouseState.type;
  }

  get weight(): number {
    return clearinghouseState.weight;
  }

  /** The first dex always exists. */
  validate(): void {}

  subjects(): readonly Subject[] {
    return [{ kind: 'account', user: this.#user, dexIndex: FIRST_DEX }];
  }

  changedAt(state: StateView): number {
    const account = findAccount(state, state.addresses.find(this.#user), FIRST_DEX);
    return accountChangedAt(state, account);
  }

  answer(
    state: StateView,
    readings: Readings | undefined,
    accounts: AccountAnswers,
  ): string | AccountAnswers {
    const account = findAccount(state, state.addresses.find(this.#user), FIRST_DEX);
    if (account === 0 || readings !== undefined) {
      const [subject] = this.subjects();
      requireKnown(state, [subject], readings);
      const own = readings?.findAnswer(subject);
      if (own !== undefined) return own;
    }
    return accounts.find(state, account);
  }
}

/** The body of a POST, as a range of a buffer. */
export class BodySource implements QuestionSource {
  readonly #bytes: Buffer;
  readonly #start: number;
  readonly #end: number;

  constructor(bytes: Buffer, start = 0, end = bytes.length) {
    this.#bytes = bytes;
    this.#start = start;
    this.#end = end;
  }

  get length(): number {
    return this.#end - this.#start;
  }

  read(forwards: boolean): AnyQuestion {
    const user = readAccountQuestion(this.#bytes, this.#start, this.#end);
    if (user !== undefined) return new AccountQuestion(user);
    const body = parseBody(this.#bytes.subarray(this.#start, this.#end));
    return body instanceof RequestError ? body : readJson(body, 'body', forwards);
  }
}

/** JSON that has been parsed already. */
export class JsonSource implements QuestionSource {
  readonly length: number;
  readonly #value: unknown;
  readonly #name: string;

  /** The name is that of the value in errors, the length that of the message around it. */
  constructor(value: unknown, name: string, length = 0) {
    this.#value = value;
    this.#name = name;
    this.length = length;
  }

  read(forwards: boolean): AnyQuestion {
    return readJson(this.#value, this.#name, forwards);
  }
}

function readJson(value: unknown, name: string, forwards: boolean): AnyQuestion {
  return (forwards ? readForwardRequest(value) : undefined) ?? readQuestion(value, name);
}

/** A query string, still encoded, as a range of a buffer. */
export class QuerySource implements QuestionSource {
  readonly #bytes: Buffer;
  readonly #start: number;
  readonly #end: number;

  constructor(bytes: Buffer, start = 0, end = bytes.length) {
    this.#bytes = bytes;
    this.#start = start;
    this.#end = end;
  }

  get length(): number {
    return this.#end - this.#start;
  }

  /** The question; a long one is read when its key is known. */
  readIfShort(forwards: boolean): AnyQuestion | LongQuery {
    if (!isLengthy(this.length)) return this.read(forwards);
    return new LongQuery(Buffer.from(this.#bytes.subarray(this.#start, this.#end)));
  }

  read(forwards: boolean): AnyQuestion {
    const user = readAccountQuery(this.#bytes, this.#start, this.#end);
    if (user !== undefined) return new AccountQuestion(user);
    const text = this.#bytes.toString('utf8', this.#start, this.#end);
    const excess = findQueryExcess(text);
    if (excess !== undefined) return refuseExcess('query', excess);
    const parameters = new URLSearchParams(text);
    return (forwards ? readForwardQuery(parameters) : undefined) ?? readQuery(parameters);
  }
}

/** A long query, kept with the head of its request: it is parsed once. */
export class LongQuery implements QuestionSource {
  readonly #bytes: Buffer;
  #question: AnyQuestion | undefined;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  get length(): number {
    return this.#bytes.length;
  }

  read(forwards: boolean): AnyQuestion {
    this.#question ??= new QuerySource(this.#bytes).read(forwards);
    return this.#question;
  }
}

function refuseExcess(name: 'body' | 'query', excess: string): RequestError {
  return new RequestError('invalid_field', `${name}: got ${excess}, expected one question`, name);
}

function parseBody(bytes: Buffer): unknown {
  const text = isUtf8(bytes) ? bytes.toString('utf8') : undefined;
  const excess = findExcess(text ?? '');
  if (excess !== undefined) return refuseExcess('body', excess);
  try {
    if (text !== undefined) return JSON.parse(text);
  } catch {
    // The message of JSON.parse is left out: it may quote the whole body.
  }
  const got = text === undefined ? 'bytes that are not UTF-8' : describeValue(text);
  return new RequestError('malformed_json', `body: got ${got}, expected a JSON object`, 'body');
}
