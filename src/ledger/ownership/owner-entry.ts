/** Ownership as an entry in a table of LMDB. A transaction lets one process at a time change the entry. */

import { type ProcessIdentity, processStatus } from './process-identity.ts';

/** The place of the entry, inside a transaction. */
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

  /** Takes the entry, unless its owner is running: then returns that owner. */
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

  /** Does nothing if another process has taken over. */
  release(place: EntryPlace): void {
    if (this.isOwnedAt(place)) place.remove();
  }
}

/** Undefined if there is no owner, or if the entry of an early version does not say which process it is. */
export function readEntryOwner(place: Pick<EntryPlace, 'read'>): ProcessIdentity | undefined {
  const text = place.read()?.toString();
  return text?.startsWith('{') ? (JSON.parse(text) as ProcessIdentity) : undefined;
}
