/** A worker's way to the archive, which another process creates and writes. */

import type { HistoryView } from '../info/history-view.ts';
import { type Archive, openArchive } from './archive.ts';
import { History } from './history.ts';

/** How often an archive that is not there yet, or was replaced, is looked for. */
const LOOK_MS = 1_000;

export interface ArchiveLinkOptions {
  /** Whether the service keeps the archive itself. */
  readonly isKept: boolean;
  warn(message: string): void;
}

export class ArchiveLink {
  readonly isKept: boolean;
  readonly #data: string;
  readonly #warn: (message: string) => void;
  #archive: Archive | undefined;
  #history: History | undefined;
  #timer: NodeJS.Timeout | undefined;
  #looking: Promise<void>;
  #isClosed = false;
  /** Why the archive could not be opened; undefined if it was, or there is none. */
  #failure: Error | undefined;
  #lastWarning = '';

  constructor(data: string, { isKept, warn }: ArchiveLinkOptions) {
    this.isKept = isKept;
    this.#data = data;
    this.#warn = warn;
    this.#looking = this.#look();
  }

  async #look(): Promise<void> {
    try {
      await this.#leaveReplaced();
      if (this.#archive === undefined) await this.#open();
      this.#failure = undefined;
    } catch (error) {
      this.#failure = error as Error;
      this.#warnOnce(`cannot open the archive: ${(error as Error).message}`);
    }
    if (this.#isClosed) return;
    this.#timer = setTimeout(() => {
      this.#looking = this.#look();
    }, LOOK_MS);
  }

  /** An archive that was deleted and is built again has another file. */
  async #leaveReplaced(): Promise<void> {
    const archive = this.#archive;
    if (archive === undefined || archive.isInPlace()) return;
    this.#archive = undefined;
    this.#history = undefined;
    await archive.close();
  }

  async #open(): Promise<void> {
    const archive = await openArchive(this.#data);
    if (archive === undefined) return;
    this.#history = new History(archive);
    this.#archive = archive;
  }

  #warnOnce(message: string): void {
    if (message !== this.#lastWarning) this.#warn(message);
    this.#lastWarning = message;
  }

  /** Undefined until the archive holds something; throws if it cannot be read. */
  find(): HistoryView | undefined {
    if (this.#archive === undefined && this.#failure !== undefined) throw this.#failure;
    this.#archive?.refresh();
    return this.#history;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    await this.#looking;
    await this.#archive?.close();
  }
}
