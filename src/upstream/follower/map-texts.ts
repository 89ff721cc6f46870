/** Replaces all texts of a value, for example to hide secrets. */

/** Returns the same value with each text replaced. The names of members are unchanged. */
export function mapTexts<T>(value: T, replace: (text: string) => string): T {
  if (typeof value === 'string') return replace(value) as T;
  if (Array.isArray(value)) return value.map((item) => mapTexts(item, replace)) as T;
  if (typeof value !== 'object' || value === null) return value;
  const members = Object.entries(value).map(([name, member]) => [name, mapTexts(member, replace)]);
  return Object.fromEntries(members) as T;
}
