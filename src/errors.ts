/** The closed table of request errors: every way in which a question can be wrong. */

export const REQUEST_ERRORS = {
  malformed_json: { status: 400, meaning: 'the body is not JSON' },
  missing_field: { status: 422, meaning: 'a required field is not there' },
  invalid_field: { status: 422, meaning: 'a field does not have the form it must have' },
  invalid_address: { status: 422, meaning: 'an address is not 0x and 40 hexadecimal digits' },
  unknown_type: { status: 422, meaning: 'there is no such type of question' },
  unknown_dex: { status: 422, meaning: 'there is no such perp dex' },
} as const;

export type RequestErrorCode = keyof typeof REQUEST_ERRORS;

/** A bad question: what was wrong, which value, what was expected, and the field to blame. */
export class RequestError extends Error {
  readonly code: RequestErrorCode;
  readonly field: string | undefined;

  constructor(code: RequestErrorCode, message: string, field?: string) {
    super(message);
    this.name = 'RequestError';
    this.code = code;
    this.field = field;
  }
}
