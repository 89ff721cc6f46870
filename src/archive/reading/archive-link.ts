/** A worker's access to the archive. Another process creates and writes the archive. */

import type { HistoryView } from '../../info/archive/history-view.ts';
import { type ChainPoint, type Ledger, LedgerError } from '../../ledger/ledger.ts';
import { describeEndFault, type EndFault, findEndFault } from '../records/ledger-match.ts';
import { type Archive, openArchive } from './archive.ts';
import { ArchivedHistory } from './archived-history.ts';

/**
 * The time between two looks. A look finds an archive that did not exist before or was replaced,
 * and compares a new end of the archive with the ledger.
 */
const LOOK_MS = 1_000;
/** The failure until the first comparison: at the start, the ledger may not be reachable yet. */
const NOT_COMPARED = new LedgerError('missing', 'it has not been compared with the ledger yet');

export interface ArchiveLinkOptions {
  /** The ledger to which the archive must belong. */
  readonly ledger: Ledger;
  /** True if the service itself writes the archive. */
  readonly isKept: boolean;
  warn(message: string): void;
}

export class ArchiveLink {
  readonly isKept: boolean;
  readonly #data: string;
  readonly #ledger: Ledger;
  readonly #warn: (message: string) => void;
  #archive: Archive | undefined;
  /** The history of the archive; undefined unless the archive belongs to the ledger. */
  #history: ArchivedHistory | undefined;
  /** The last end of the archive that was found to be a block of the ledger. */
  #ownEnd: ChainPoint | undefined;
  #wasBeyond = false;
  #timer: NodeJS.Timeout | undefined;
  #looking: Promise<void>;
  #isClosed = false;
  /**
   * Why questions about the past are refused; undefined if they are answered, or no archive exists.
   */
  #failure: Error | undefined;
  #lastWarning = '';

  constructor(data: string, { ledger, isKept, warn }: ArchiveLinkOptions) {
    this.isKept = isKept;
    this.#ledger = ledger;
    this.#data = data;
    this.#warn = warn;
    this.#looking = this.#look();
  }

  async #look(): Promise<void> {
    try {
      await this.#leaveReplaced();
      if (this.#archive === undefined) await this.#open();
      if (this.#archive !== undefined) await this.#compare(this.#archive);
      this.#failure = undefined;
    } catch (error) {
      this.#failure = error as Error;
      this.#warnOnce(`the archive is not answered from: ${(error as Error).message}`);
    }
    if (this.#isClosed) return;
    this.#timer = setTimeout(() => {
      this.#looking = this.#look();
    }, LOOK_MS);
  }

  /**
   * Closes an archive whose file was replaced: an archive that was deleted and is built again is a
   * new file.
   */
  async #leaveReplaced(): Promise<void> {
    const archive = this.#archive;
    if (archive === undefined || archive.isInPlace()) return;
    this.#archive = undefined;
    this.#disown();
    await archive.close();
  }

  #disown(): void {
    this.#history = undefined;
    this.#ownEnd = undefined;
    this.#wasBeyond = false;
  }

  async #open(): Promise<void> {
    const archive = await openArchive(this.#data);
    if (archive === undefined) return;
    this.#failure = NOT_COMPARED;
    this.#archive = archive;
  }

  /**
   * Compares the end of the archive with the ledger. Questions are answered from the archive only
   * if its last block is a block of the ledger.
   */
  async #compare(archive: Archive): Promise<void> {
    const { head } = archive.refresh();
    if (this.#ownEnd?.hash.equals(head.hash)) return;
    const fault = await findEndFault({ head }, this.#ledger).catch((error: Error) => error);
    if (fault === undefined) {
      this.#ownEnd = head;
      this.#wasBeyond = false;
      this.#history ??= new ArchivedHistory(archive);
    } else if (!this.#isForgiven(fault)) {
      this.#disown();
      throw fault instanceof Error ? fault : new LedgerError('conflict', describeEndFault(fault));
    }
  }

  /**
   * True if the archive is used in spite of the fault. An archive that belonged to the ledger is
   * still used while the ledger cannot be read. If the archive is ahead of the part of the ledger
   * that this process has read, the archive is used until the next look.
   */
  #isForgiven(fault: EndFault | Error): boolean {
    if (this.#ownEnd === undefined) return false;
    if (fault instanceof Error) return true;
    const isFirst = !this.#wasBeyond;
    this.#wasBeyond = fault.isBeyond;
    return fault.isBeyond && isFirst;
  }

  #warnOnce(message: string): void {
    if (message !== this.#lastWarning) this.#warn(message);
    this.#lastWarning = message;
  }

  /**
   * Returns the history; returns undefined while the archive is empty. Throws if the archive cannot
   * be read, or belongs to another ledger.
   */
  find(): HistoryView | undefined {
    if (this.#failure !== undefined) throw this.#failure;
    if (this.#history !== undefined) this.#archive?.refresh();
    return this.#history;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    await this.#looking;
    await this.#archive?.close();
  }
}
