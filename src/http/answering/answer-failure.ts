/** A bug of ours that came up while a question was answered. */

/** The error, and which question it came up with. */
export class AnswerFailure extends Error {
  readonly about: { readonly type: string | undefined; readonly keyId: string };

  constructor(cause: unknown, about: AnswerFailure['about']) {
    super('a question could not be answered', { cause });
    this.name = 'AnswerFailure';
    this.about = about;
  }
}

/** A failure for the log: the error, with the type and the key's id where they are known. */
export function describeFailure(error: unknown): Readonly<Record<string, unknown>> {
  return error instanceof AnswerFailure ? { err: error.cause, ...error.about } : { err: error };
}
