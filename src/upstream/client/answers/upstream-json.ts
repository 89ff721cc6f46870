/** Parses JSON of an upstream. Refuses JSON that has more levels than any real answer. */

/**
 * The maximum number of levels. Answers have about ten levels. With thousands of levels, recursive
 * functions would overflow the stack.
 */
export const JSON_DEPTH_MAX = 64;

export class NestingError extends Error {
  constructor() {
    super(`nested more than ${JSON_DEPTH_MAX} levels deep`);
    this.name = 'NestingError';
  }
}

/** Returns the value; throws a SyntaxError or a NestingError. */
export function parseUpstreamJson(text: string): unknown {
  const value: unknown = JSON.parse(text);
  if (isDeeper(value, JSON_DEPTH_MAX)) throw new NestingError();
  return value;
}

function isDeeper(value: unknown, depthMax: number): boolean {
  if (typeof value !== 'object' || value === null) return false;
  if (depthMax === 0) return true;
  return Object.values(value).some((item) => isDeeper(item, depthMax - 1));
}
