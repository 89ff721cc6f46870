/** Removes from a report what its readers must not see. */

/** Addresses and hashes, including those that were cut. */
const HEXADECIMAL = /0x[0-9a-fA-F]{6,}/g;
const MASK = '0x***';

/**
 * The text without addresses, including other users' addresses, and without the digits of the
 * user's address.
 */
export function maskAddresses(text: string, user: string): string {
  return text.replaceAll(HEXADECIMAL, MASK).replaceAll(new RegExp(user.slice(2), 'gi'), '***');
}
