/** Takes out of a report what must not reach those whom it is sent to. */

/** Addresses and hashes, also where they were cut. */
const HEXADECIMAL = /0x[0-9a-fA-F]{6,}/g;
const MASK = '0x***';

/** The same value with each text replaced; names of members stay. */
export function mapTexts<T>(value: T, replace: (text: string) => string): T {
  if (typeof value === 'string') return replace(value) as T;
  if (Array.isArray(value)) return value.map((item) => mapTexts(item, replace)) as T;
  if (typeof value !== 'object' || value === null) return value;
  const members = Object.entries(value).map(([name, member]) => [name, mapTexts(member, replace)]);
  return Object.fromEntries(members) as T;
}

/** Without addresses, those of strangers included, and without the digits of the user's. */
export function maskAddresses(text: string, user: string): string {
  return text.replaceAll(HEXADECIMAL, MASK).replaceAll(new RegExp(user.slice(2), 'gi'), '***');
}
