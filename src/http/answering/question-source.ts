/** Parses the question that a transport has read: a POST's body, a query string, or parsed JSON. */

import { isUtf8 } from 'node:buffer';
import { describeValue } from '../../events/refusal.ts';
import { readFrequentBody, readFrequentQuery } from '../../info/frequent-question.ts';
import type { Question } from '../../info/question.ts';
import { readQuery, readQuestion } from '../../info/read-question.ts';
import { RequestError } from '../../info/request-error.ts';
import { findExcess, findQueryExcess, isLengthy } from '../message/parse-limits.ts';

/**
 * A question that is not parsed yet. `read` parses the question; `forwards` is true if the question
 * may be forwarded to the upstream.
 */
export interface QuestionSource {
  /** The length in bytes of the question and of the message that contains it. */
  readonly length: number;
  read(forwards: boolean): Question | RequestError;
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

  read(forwards: boolean): Question | RequestError {
    const frequent = readFrequentBody(this.#bytes, this.#start, this.#end);
    if (frequent !== undefined) return frequent;
    const body = parseBody(this.#bytes.subarray(this.#start, this.#end));
    return body instanceof RequestError ? body : readQuestion(body, 'body', { forwards });
  }
}

/** JSON that has been parsed already. */
export class JsonSource implements QuestionSource {
  readonly length: number;
  readonly #value: unknown;
  readonly #name: string;

  /**
   * `name` is the name of the value in errors. `length` is the length in bytes of the message that
   * contains the value.
   */
  constructor(value: unknown, name: string, length = 0) {
    this.#value = value;
    this.#name = name;
    this.length = length;
  }

  read(forwards: boolean): Question | RequestError {
    return readQuestion(this.#value, this.#name, { forwards });
  }
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

  /**
   * Returns the parsed question. Returns a long query unparsed, because it is only read when its
   * key is known.
   */
  readIfShort(forwards: boolean): Question | RequestError | LongQuery {
    if (!isLengthy(this.length)) return this.read(forwards);
    return new LongQuery(Buffer.from(this.#bytes.subarray(this.#start, this.#end)));
  }

  read(forwards: boolean): Question | RequestError {
    const frequent = readFrequentQuery(this.#bytes, this.#start, this.#end);
    if (frequent !== undefined) return frequent;
    const text = this.#bytes.toString('utf8', this.#start, this.#end);
    const excess = findQueryExcess(text);
    if (excess !== undefined) return refuseExcess('query', excess);
    const parameters = new URLSearchParams(text);
    return readQuery(parameters, { forwards });
  }
}

/** A long query, which is stored with the head of its request. The query is parsed only once. */
export class LongQuery implements QuestionSource {
  readonly #bytes: Buffer;
  #question: Question | RequestError | undefined;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  get length(): number {
    return this.#bytes.length;
  }

  read(forwards: boolean): Question | RequestError {
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
    // The error does not contain the message of JSON.parse, because that message may quote the
    // whole body.
  }
  const got = text === undefined ? 'bytes that are not UTF-8' : describeValue(text);
  return new RequestError('malformed_json', `body: got ${got}, expected a JSON object`, 'body');
}
