/** A worker's way to the archive, which another process creates and writes. */

import type { HistoryView } from '../info/history-view.ts';
import { type Archive, openArchive } from './archive.ts';
import { History } from './history.ts';

/** How often an archive that is not there yet is looked for. */
const RETRY_MS = 1_000;

export class ArchiveLink {
  readonly #data: string;
  readonly #warn: (message: string) => void;
  #archive: Archive | undefined;
  #history: History | undefined;
  #timer: NodeJS.Timeout | undefined;
  #opening: Promise<void>;
  #isClosed = false;
  #lastWarning = '';

  constructor(data: string, warn: (message: string) => void) {
    this.#data = data;
    this.#warn = warn;
    this.#opening = this.#open();
  }

  async #open(): Promise<void> {
    try {
      this.#archive = await openArchive(this.#data);
      if (this.#archive !== undefined) this.#history = new History(this.#archive);
    } catch (error) {
      this.#warnOnce(`cannot open the archive: ${(error as Error).message}`);
    }
    if (this.#archive !== undefined || this.#isClosed) return;
    this.#timer = setTimeout(() => {
      this.#opening = this.#open();
    }, RETRY_MS);
  }

  #warnOnce(message: string): void {
    if (message !== this.#lastWarning) this.#warn(message);
    this.#lastWarning = message;
  }

  /** Undefined until the archive holds something. */
  find(): HistoryView | undefined {
    this.#archive?.refresh();
    return this.#history;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    await this.#opening;
    await this.#archive?.close();
  }
}
