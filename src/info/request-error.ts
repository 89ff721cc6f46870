/** The closed table of request errors: every way in which a question can fail, and its status. */

import { ADDRESS_EXPECTED } from '../exact/address.ts';

export const REQUEST_ERRORS = {
  malformed_request: { status: 400, meaning: 'the bytes are not HTTP that can be understood' },
  malformed_json: { status: 400, meaning: 'the body is not JSON' },
  unknown_key: { status: 401, meaning: 'no such key, a revoked or expired one, or none given' },
  not_found: { status: 404, meaning: 'there is no such path' },
  method_not_allowed: { status: 405, meaning: 'the path does not take this method' },
  request_timeout: { status: 408, meaning: 'the headers or the body came too slowly' },
  body_too_large: { status: 413, meaning: 'the body is over the limit' },
  unsupported_media_type: { status: 415, meaning: 'the body is not declared as application/json' },
  missing_field: { status: 422, meaning: 'a required field is not there' },
  invalid_field: { status: 422, meaning: 'a field or header does not have the form it must have' },
  invalid_address: { status: 422, meaning: `an address is not ${ADDRESS_EXPECTED}` },
  unknown_type: { status: 422, meaning: 'there is no such type of question' },
  unknown_dex: { status: 422, meaning: 'there is no such perp dex' },
  rate_limited: { status: 429, meaning: "the key's budget is spent" },
  headers_too_large: { status: 431, meaning: 'the headers are over the limit' },
  upstream_failed: { status: 502, meaning: 'the exchange behind this service failed' },
  not_ready: { status: 503, meaning: 'the ledger is being replayed, or its chain is broken' },
  behind: { status: 503, meaning: 'the ledger is not as far, or not as fresh, as asked' },
  overloaded: { status: 503, meaning: 'more requests come than can be answered in time' },
} as const;

export type RequestErrorCode = keyof typeof REQUEST_ERRORS;

/**
 * A bad question: what was wrong, which value, what was expected, and the field to blame. It is no
 * Error: nobody needs its stack trace, and taking one costs as much as an answer.
 */
export class RequestError {
  readonly code: RequestErrorCode;
  readonly message: string;
  readonly field: string | undefined;
  /** Whole seconds after which the same question may be taken; undefined where that is not known. */
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
   * The body of the answer. The exchange's own Python client reads `code` and `msg` of every 4xx, and
   * fails with a KeyError where they are absent.
   */
  toJson(): string {
    this.#json ??= this.#formatJson();
    return this.#json;
  }

  /** The message is quoted once, although it is there twice. */
  #formatJson(): string {
    const { code, field } = this;
    const message = JSON.stringify(this.message);
    const named = field === undefined ? '' : `,"field":${JSON.stringify(field)}`;
    return `{"error":"${code}","message":${message}${named},"code":"${code}","msg":${message}}`;
  }
}
