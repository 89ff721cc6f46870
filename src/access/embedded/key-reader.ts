/** Reads the keys of a data directory, and notices when their file is replaced. */

import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { readStat } from '../../ledger/embedded/folder.ts';
import { dataFile, readFileId } from '../../ledger/embedded/lmdb-environment.ts';
import { type KeyReader, type ListedKey, listKeys } from '../key-store.ts';
import { KeyUseFile } from '../key-use.ts';
import { isRevoked, type Key, KeyError } from '../keys.ts';
import {
  checksum,
  damageError,
  decodeKey,
  type KeyTableContents,
  type KeyTables,
  keysFolder,
} from './key-tables.ts';
import { openLmdbKeyTables } from './lmdb-key-tables.ts';

/** Tables may appear this late in a file that another process has just created. */
const CREATION_MS_MAX = 1_000;
const CREATION_POLL_MS = 50;
/** A reader checks at this interval whether its file was replaced. */
const FILE_CHECK_MS = 1_000;

export class EmbeddedKeyReader implements KeyReader {
  protected readonly folder: string;
  readonly #use: KeyUseFile;
  readonly #canReopen: boolean;
  #tables: KeyTables | undefined;
  #fileId: string;
  #checkedMs = performance.now();
  #reopening: Promise<void> | undefined;
  /**
   * This number is added to versions, because versions start again from 0 in a file that replaced
   * another file.
   */
  #versionBase = 0;
  #version = 0;
  /** Describes what happened to the file that was open before. It is reported once. */
  #fileChange: string | undefined;
  #faults: string[] = [];
  #ids: ReadonlySet<string> = new Set();

  /** If `canReopen` is true, a file that replaces the open file is opened instead. */
  constructor(folder: string, tables: KeyTables | undefined, { canReopen = false } = {}) {
    this.folder = folder;
    this.#use = new KeyUseFile(path.join(folder, 'last-used.json'));
    this.#tables = tables;
    this.#fileId = tables === undefined ? '' : readFileId(folder);
    this.#canReopen = canReopen;
  }

  get faults(): readonly string[] {
    return this.#faults;
  }

  version(): number {
    this.#checkFile();
    this.#tables?.refresh();
    this.#version = this.#versionBase + (this.contents()?.version ?? 0);
    return this.#version;
  }

  #checkFile(): void {
    if (!this.#canReopen || this.#reopening !== undefined) return;
    // While there is no file, every call looks for it, so that the first key works at once.
    if (this.#tables !== undefined && performance.now() - this.#checkedMs < FILE_CHECK_MS) return;
    this.#checkedMs = performance.now();
    const found = readFileId(this.folder);
    if (found === this.#fileId) return;
    this.#reopening = this.#reopen(found).finally(() => {
      this.#reopening = undefined;
    });
  }

  /**
   * Opens the file that was found. After a failure, the previous file stays in use, and the next
   * check retries.
   */
  async #reopen(found: string): Promise<void> {
    const tables =
      found === '' ? undefined : await openForReading(this.folder).catch(() => undefined);
    if (found !== '' && tables === undefined) return;
    const previous = this.#tables;
    this.#versionBase = this.#version + 1;
    this.#tables = tables;
    this.#fileId = found;
    if (previous === undefined) return;
    const file = dataFile(this.folder);
    this.#fileChange =
      found === ''
        ? `${file} was removed or moved away while it was open: every key is refused until it is back`
        : `${file} was replaced while it was open: the keys of the new file are valid now`;
    // The old file is closed last, so that no read hits a closed file.
    await previous.close();
  }

  protected contents(): KeyTableContents | undefined {
    return this.reading(() => this.#tables?.readContents());
  }

  all(): Key[] {
    return this.#stored().filter((key) => !isRevoked(key));
  }

  /** All keys, including revoked keys. */
  #stored(): Key[] {
    const tables = this.#tables;
    this.#faults = this.#fileChange === undefined ? [] : [this.#fileChange];
    this.#fileChange = undefined;
    if (tables === undefined) return [];
    const records = this.reading(() => tables.readKeys());
    const ids = records.map(({ id }) => id);
    const damagedRecords = records.filter(({ id, value }) => decodeKey(id, value) === undefined);
    for (const { id } of damagedRecords) {
      this.#faults.push(damageError(this.folder, `the record of key ${id} is damaged`).message);
    }
    if (this.contents()?.ids !== checksum(...ids)) {
      this.#faults.push(damageError(this.folder, 'keys are missing').message);
    }
    this.#ids = new Set(ids);
    return records.flatMap(({ id, value }) => decodeKey(id, value) ?? []);
  }

  async list(): Promise<ListedKey[]> {
    this.#tables?.refresh();
    const usedMsById = await this.#use.read();
    return listKeys(this.#stored(), usedMsById);
  }

  saveUse(usedMsById: ReadonlyMap<string, number>): Promise<void> {
    return this.#use.save(usedMsById, this.#ids);
  }

  async close(): Promise<void> {
    await this.#reopening;
    await this.#tables?.close();
  }

  /** Adds the file and the remedy to LMDB's errors, which name neither. */
  protected reading<T>(read: () => T): T {
    try {
      return read();
    } catch (error) {
      throw damageError(this.folder, `keys cannot be read (${(error as Error).message})`, error);
    }
  }
}

function openForReading(folder: string): Promise<KeyTables | undefined> {
  return openLmdbKeyTables(folder, { readOnly: true });
}

/** Opens keys for reading. Creates no files: a folder without keys is read as an empty list. */
export async function openKeyReader(dataDirectory: string): Promise<KeyReader> {
  if (readStat(dataDirectory) === undefined) {
    throw new KeyError(`there is no folder ${dataDirectory}`);
  }
  const folder = keysFolder(dataDirectory);
  const deadlineMs = performance.now() + CREATION_MS_MAX;
  for (; ; await sleep(CREATION_POLL_MS)) {
    const isThere = readFileId(folder) !== '';
    const tables = isThere ? await openForReading(folder) : undefined;
    if (!isThere || tables !== undefined) {
      return new EmbeddedKeyReader(folder, tables, { canReopen: true });
    }
    if (performance.now() > deadlineMs) throw damageError(folder, 'there are no keys');
  }
}
