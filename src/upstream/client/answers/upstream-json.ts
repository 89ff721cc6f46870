/** Parses JSON of an upstream, and refuses JSON that is nested deeper than any real answer. */

/**
 * Answers have about ten levels. Recursive functions overflow the stack at some thousands of
 * levels.
 */
export const JSON_DEPTH_MAX = 64;

export class NestingError extends Error {
  constructor() {
    super(`nested more than ${JSON_DEPTH_MAX} levels deep`);
    this.name = 'NestingError';
  }
}

/** Throws a SyntaxError or a NestingError. */
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
