/** Removes the addresses of users from a report. */

/** Matches addresses and hashes, even if they were cut. */
const HEXADECIMAL = /0x[0-9a-fA-F]{6,}/g;
const MASK = '0x***';

/**
 * Returns the text without addresses. The addresses of all users are hidden, and also the digits of
 * this user's address without 0x.
 */
export function maskAddresses(text: string, user: string): string {
  return text.replaceAll(HEXADECIMAL, MASK).replaceAll(new RegExp(user.slice(2), 'gi'), '***');
}
