/** A bad setting or argument: the command does not run, and the exit code is 2. */
export class UsageError extends Error {
  constructor(problems: readonly string[]) {
    super(problems.join('; '));
    this.name = 'UsageError';
  }
}
