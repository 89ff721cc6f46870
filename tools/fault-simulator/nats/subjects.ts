/**
 * True if a subject matches a pattern: `*` stands for one token, and a final `>` for one or more
 * tokens.
 */
export function matchesSubject(pattern: string, subject: string): boolean {
  if (pattern === subject) return true;
  if (!pattern.includes('*') && !pattern.includes('>')) return false;
  const wanted = pattern.split('.');
  const tokens = subject.split('.');
  const end = wanted.at(-1) === '>' ? wanted.length - 1 : wanted.length;
  if (end === wanted.length ? tokens.length !== end : tokens.length <= end) return false;
  return wanted.slice(0, end).every((token, index) => token === '*' || token === tokens[index]);
}
