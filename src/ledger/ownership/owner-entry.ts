/** Ownership as an entry in a table of LMDB. A transaction lets one process at a time change the entry. */

import { type ProcessIdentity, processStatus } from './process-identity.ts';

/** Access to the entry, inside a transaction. */
export interface EntryPlace {
  read(): Buffer | undefined;
  write(owner: Buffer): void;
  remove(): void;
}

export class OwnerEntry {
  readonly #name: string;

  /** The token distinguishes owners in the same process. */
  constructor(identity: ProcessIdentity & { readonly token?: string }) {
    this.#name = JSON.stringify(identity);
  }

  /** Takes the entry and returns undefined; if the owner is running, returns the owner instead. */
  take(place: EntryPlace): ProcessIdentity | undefined {
    const owner = readEntryOwner(place);
    if (owner !== undefined && processStatus(owner) === 'running') return owner;
    this.takeOver(place);
    return undefined;
  }

  /** Takes the entry even if its owner is running. */
  takeOver(place: EntryPlace): void {
    place.write(Buffer.from(this.#name));
  }

  isOwnedAt(place: Pick<EntryPlace, 'read'>): boolean {
    return place.read()?.toString() === this.#name;
  }

  /** Removes the entry, unless another process has taken it over. */
  release(place: EntryPlace): void {
    if (this.isOwnedAt(place)) place.remove();
  }
}

/**
 * Returns the owner; returns undefined if there is no owner, or if the entry of an early version
 * does not say which process it is.
 */
export function readEntryOwner(place: Pick<EntryPlace, 'read'>): ProcessIdentity | undefined {
  const text = place.read()?.toString();
  return text?.startsWith('{') ? (JSON.parse(text) as ProcessIdentity) : undefined;
}
