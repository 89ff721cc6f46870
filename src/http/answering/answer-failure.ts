/**
 * An unexpected error while a question was answered: a bug in perpinfo, not a fault of the client.
 */

/** Wraps the error, and adds the type of the question and the id of the key that asked. */
export class AnswerFailure extends Error {
  readonly about: { readonly type: string | undefined; readonly keyId: string };

  constructor(cause: unknown, about: AnswerFailure['about']) {
    super('a question could not be answered', { cause });
    this.name = 'AnswerFailure';
    this.about = about;
  }
}

/**
 * Formats a failure for the log: the error, with the type of the question and the key's id if they
 * are known.
 */
export function describeFailure(error: unknown): Readonly<Record<string, unknown>> {
  return error instanceof AnswerFailure ? { err: error.cause, ...error.about } : { err: error };
}
