/** Parses the question that a transport has read: a POST's body, a query string, or parsed JSON. */

import { isUtf8 } from 'node:buffer';
import { describeValue } from '../../events/refusal.ts';
import { readFrequentBody, readFrequentQuery } from '../../info/frequent-question.ts';
import type { Question } from '../../info/question.ts';
import { readQuery, readQuestion } from '../../info/read-question.ts';
import { RequestError } from '../../info/request-error.ts';
import { findExcess, findQueryExcess, isLengthy } from '../message/parse-limits.ts';

/** An unparsed question; `read` parses it; `forwards` says whether the upstream may be asked. */
export interface QuestionSource {
  /** In bytes, with what is around it. */
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

  /** The name is that of the value in errors, the length that of the message around it. */
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

  /** The question; a long one is read when its key is known. */
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

/** A long query, kept with the head of its request: it is parsed once. */
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
    // The message of JSON.parse is left out: it may quote the whole body.
  }
  const got = text === undefined ? 'bytes that are not UTF-8' : describeValue(text);
  return new RequestError('malformed_json', `body: got ${got}, expected a JSON object`, 'body');
}
