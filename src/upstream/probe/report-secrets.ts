/** Takes out of a report what must not reach those whom it is sent to. */

/** Addresses and hashes, also where they were cut. */
const HEXADECIMAL = /0x[0-9a-fA-F]{6,}/g;
const MASK = '0x***';

/** Without addresses, those of strangers included, and without the digits of the user's. */
export function maskAddresses(text: string, user: string): string {
  return text.replaceAll(HEXADECIMAL, MASK).replaceAll(new RegExp(user.slice(2), 'gi'), '***');
}
