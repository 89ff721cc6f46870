/** The complete table of request errors: every way in which a question can fail, and its status. */

import { describeValue } from '../events/refusal.ts';
import { ADDRESS_EXPECTED } from '../exact/address.ts';

export const REQUEST_ERRORS = {
  malformed_request: {
    status: 400,
    meaning: 'the request is not valid HTTP, or the connection ended before the answer was ready',
  },
  malformed_json: { status: 400, meaning: 'the body is not JSON' },
  unknown_key: { status: 401, meaning: 'the key is missing, unknown, revoked or expired' },
  not_found: { status: 404, meaning: 'there is no such path' },
  method_not_allowed: { status: 405, meaning: 'the path does not take this method' },
  request_timeout: { status: 408, meaning: 'the headers or the body arrived too slowly' },
  body_too_large: { status: 413, meaning: 'the body is over the limit' },
  unsupported_media_type: { status: 415, meaning: 'the body is not declared as application/json' },
  missing_field: { status: 422, meaning: 'a required field is missing' },
  invalid_field: { status: 422, meaning: 'a field or header has an invalid value' },
  invalid_address: { status: 422, meaning: `an address is not ${ADDRESS_EXPECTED}` },
  unknown_type: { status: 422, meaning: 'there is no such type of question' },
  unknown_dex: { status: 422, meaning: 'there is no such perp dex' },
  unknown_height: {
    status: 422,
    meaning:
      'the archive does not hold the height or time, the ledger did not know the account then, or there is no archive',
  },
  rate_limited: {
    status: 429,
    meaning:
      "the key's budget is spent, or it has too many push connections, subscriptions or long answers",
  },
  headers_too_large: { status: 431, meaning: 'the headers are over the limit' },
  upstream_failed: { status: 502, meaning: 'the exchange behind this service failed' },
  not_ready: {
    status: 503,
    meaning:
      'the ledger is being replayed, is broken or does not hold the account; or its archive cannot be read',
  },
  behind: {
    status: 503,
    meaning: 'the state is stale, may lack blocks, or has not reached the requested height',
  },
  overloaded: { status: 503, meaning: 'more requests arrive than can be answered in time' },
} as const;

export type RequestErrorCode = keyof typeof REQUEST_ERRORS;

/** A code of the table with this status; undefined for any other value. */
export function readErrorCode(value: unknown, status: number): RequestErrorCode | undefined {
  if (typeof value !== 'string' || !Object.hasOwn(REQUEST_ERRORS, value)) return undefined;
  const code = value as RequestErrorCode;
  return REQUEST_ERRORS[code].status === status ? code : undefined;
}

/**
 * The refusal of a question: what is wrong, which value was given, what was expected, and which
 * field is wrong. It is not an Error: a stack trace would be useless, and capturing it costs as
 * much as an answer.
 */
export class RequestError {
  readonly code: RequestErrorCode;
  readonly message: string;
  readonly field: string | undefined;
  /** Whole seconds after which to retry; undefined if unknown. */
  readonly retryAfterSeconds: number | undefined;
  #json: string | undefined;

  constructor(code: RequestErrorCode, message: string, field?: string, retryAfterSeconds?: number) {
    this.code = code;
    this.message = message;
    this.field = field;
    this.retryAfterSeconds = retryAfterSeconds;
  }

  get status(): number {
    return REQUEST_ERRORS[this.code].status;
  }

  /**
   * The body of the answer. The exchange's own Python client reads `code` and `msg` of every 4xx,
   * and fails with a KeyError if they are absent.
   */
  toJson(): string {
    this.#json ??= this.#formatJson();
    return this.#json;
  }

  /** Escapes the message once, although the body contains the message twice. */
  #formatJson(): string {
    const { code, field } = this;
    const message = JSON.stringify(this.message);
    const named = field === undefined ? '' : `,"field":${JSON.stringify(field)}`;
    return `{"error":"${code}","message":${message}${named},"code":"${code}","msg":${message}}`;
  }
}

/** Returns a RequestError that names the field or header, its value and what was expected. */
export function wrongValue(
  field: string,
  value: unknown,
  expected: string,
  code: RequestErrorCode = 'invalid_field',
): RequestError {
  return new RequestError(
    code,
    `${field}: got ${describeValue(value)}, expected ${expected}`,
    field,
  );
}
