/**
 * Access keys in an LMDB environment of their own beside the ledger: whoever manages keys is not the
 * ledger's writer. Whoever serves opens it for reading only.
 *
 *   keys   ID         -> checksum of the ID and the JSON, a space, the JSON of the key
 *   meta   "contents" -> JSON of { version, ids }: the version goes up with every change, and ids is
 *                        a checksum of all IDs, so that a key that has got lost is noticed
 */

import { createHash } from 'node:crypto';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Database } from 'lmdb';
import { describeDiskFailure } from '../ledger/embedded/disk-failure.ts';
import { readStat } from '../ledger/embedded/folder.ts';
import { dataFile, LmdbFolder, readFileId } from '../ledger/embedded/lmdb-environment.ts';
import { checkRoom, reserveRoom } from '../ledger/embedded/lmdb-room.ts';
import { KeyUseFile } from './key-use.ts';
import {
  addSecretTo,
  type Key,
  KeyError,
  type KeyReader,
  type KeyStore,
  type KeyTerms,
  type ListedKey,
  makeKey,
  missingKey,
  type NewSecret,
  parseName,
  sortKeys,
  takeSecretFrom,
} from './keys.ts';

const CONTENTS = 'contents';
/** What a change takes at most, and what is set aside for it: a key can be revoked on a full disk. */
const CHANGE_BYTES = 32_768;
const RESERVED_BYTES = 2 * CHANGE_BYTES;
/** How long tables may take to appear in a file that somebody has just begun. */
const BEGUN_MS_MAX = 1_000;
const BEGUN_LOOK_MS = 50;
/** How often a reader looks whether the file is still the one that it has opened. */
const LOOK_MS = 1_000;

interface Contents {
  readonly version: number;
  readonly ids: string;
}

interface Tables {
  readonly folder: LmdbFolder<unknown>;
  readonly keys: Database<string, string>;
  readonly meta: Database<Contents, string>;
}

function checksum(...parts: string[]): string {
  return createHash('sha256').update(parts.join('\n')).digest('base64url');
}

function encodeKey(key: Key): string {
  const json = JSON.stringify(key);
  return `${checksum(key.id, json)} ${json}`;
}

/** Undefined where the record is not what was written. */
function decodeKey(id: string, record: unknown): Key | undefined {
  if (typeof record !== 'string') return undefined;
  const space = record.indexOf(' ');
  const json = record.slice(space + 1);
  return record.slice(0, space) === checksum(id, json) ? (JSON.parse(json) as Key) : undefined;
}

function keysFolder(dataDirectory: string): string {
  return path.join(dataDirectory, 'keys');
}

/** What is damaged is told by its place, with what to do. */
function damaged(folder: string, what: string, cause?: unknown): KeyError {
  const message = `${what} in ${dataFile(folder)}: restore it from a backup, or revoke and make keys anew`;
  return new KeyError(message, { cause });
}

/** Undefined where nobody has made the tables: whoever opens for reading does not. */
async function openTables(path: string, readOnly: boolean): Promise<Tables | undefined> {
  const folder = await LmdbFolder.open<unknown>({ what: 'the keys', folder: path, readOnly });
  const { environment } = folder;
  const keys = environment.openDB<string, string>({ name: 'keys', encoding: 'string' });
  const meta = environment.openDB<Contents, string>({ name: 'meta', encoding: 'json' });
  if (keys !== undefined && meta !== undefined) return { folder, keys, meta };
  await folder.close();
  return undefined;
}

class EmbeddedKeyReader implements KeyReader {
  protected readonly folder: string;
  readonly #use: KeyUseFile;
  readonly #canReopen: boolean;
  #tables: Tables | undefined;
  #fileId: string;
  #lookedMs = performance.now();
  #reopening: Promise<void> | undefined;
  /** Added to versions, which begin anew in a file that was put in the place of another. */
  #versionBase = 0;
  #version = 0;
  /** What became of the file that was open before; told once. */
  #fileChange: string | undefined;
  #faults: string[] = [];
  #ids: ReadonlySet<string> = new Set();

  /** With `canReopen`, a file that takes the place of the one that was opened is opened instead. */
  constructor(folder: string, tables: Tables | undefined, { canReopen = false } = {}) {
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
    this.#lookForAnother();
    this.#tables?.folder.environment.resetReadTxn();
    this.#version = this.#versionBase + (this.contents()?.version ?? 0);
    return this.#version;
  }

  #lookForAnother(): void {
    if (!this.#canReopen || this.#reopening !== undefined) return;
    // Where there was none, the first one is looked for each time: it is to be known as soon as any.
    if (this.#tables !== undefined && performance.now() - this.#lookedMs < LOOK_MS) return;
    this.#lookedMs = performance.now();
    const found = readFileId(this.folder);
    if (found === this.#fileId) return;
    this.#reopening = this.#reopen(found).finally(() => {
      this.#reopening = undefined;
    });
  }

  /** Where it fails it is tried again: keys stay as they were meanwhile. */
  async #reopen(found: string): Promise<void> {
    const tables =
      found === '' ? undefined : await openTables(this.folder, true).catch(() => undefined);
    if (found !== '' && tables === undefined) return;
    const previous = this.#tables;
    this.#versionBase = this.#version + 1;
    this.#tables = tables;
    this.#fileId = found;
    if (previous === undefined) return;
    const file = dataFile(this.folder);
    this.#fileChange =
      found === ''
        ? `${file} was removed or moved away while it was open: no key opens anything until it is back`
        : `${file} was replaced while it was open: its keys are those that count now`;
    // Last: keys are read all the time, and never from a file that is closed.
    await previous.folder.close();
  }

  protected contents(): Contents | undefined {
    return this.reading(() => this.#tables?.meta.get(CONTENTS));
  }

  all(): Key[] {
    const tables = this.#tables;
    this.#faults = this.#fileChange === undefined ? [] : [this.#fileChange];
    this.#fileChange = undefined;
    if (tables === undefined) return [];
    const records = this.reading(() => Array.from(tables.keys.getRange()));
    const ids = records.map(({ key }) => key);
    const damagedRecords = records.filter(({ key, value }) => decodeKey(key, value) === undefined);
    for (const { key } of damagedRecords) {
      this.#faults.push(damaged(this.folder, `the record of key ${key} is damaged`).message);
    }
    if (this.contents()?.ids !== checksum(...ids)) {
      this.#faults.push(damaged(this.folder, 'keys are missing').message);
    }
    this.#ids = new Set(ids);
    return records.flatMap(({ key, value }) => decodeKey(key, value) ?? []);
  }

  async list(): Promise<ListedKey[]> {
    this.#tables?.folder.environment.resetReadTxn();
    const usedMsById = await this.#use.read();
    return sortKeys(this.all().map((key) => ({ ...key, lastUsedMs: usedMsById.get(key.id) })));
  }

  noteUse(usedMsById: ReadonlyMap<string, number>): Promise<void> {
    return this.#use.note(usedMsById, this.#ids);
  }

  async close(): Promise<void> {
    await this.#reopening;
    await this.#tables?.folder.close();
  }

  /** What LMDB says of a damaged file names neither the file nor what to do. */
  protected reading<T>(read: () => T): T {
    try {
      return read();
    } catch (error) {
      throw damaged(this.folder, `keys cannot be read (${(error as Error).message})`, error);
    }
  }
}

class EmbeddedKeyStore extends EmbeddedKeyReader implements KeyStore {
  readonly #tables: Tables;

  constructor(folder: string, tables: Tables) {
    super(folder, tables);
    this.#tables = tables;
    if (this.contents() === undefined) this.#change(() => undefined);
    reserveRoom(folder, [tables.keys, tables.meta], RESERVED_BYTES);
  }

  create(terms: KeyTerms): NewSecret {
    const { key, made } = makeKey(terms);
    this.#change(() => this.#put(key));
    return made;
  }

  addSecret(keyName: string): NewSecret {
    const { id } = parseName(keyName);
    return this.#change(() => {
      const { key, made } = addSecretTo(this.#require(id));
      this.#put(key);
      return made;
    });
  }

  /** A key whose record is damaged can be revoked, as a whole. */
  revoke(name: string): void {
    const { id, number } = parseName(name);
    this.#change(() => {
      const isDamaged = this.#tables.keys.get(id) !== undefined && this.#find(id) === undefined;
      const left = isDamaged ? undefined : takeSecretFrom(this.#require(id), number);
      if (left === undefined) this.#tables.keys.remove(id);
      else this.#put(left);
    });
  }

  #find(id: string): Key | undefined {
    return decodeKey(id, this.#tables.keys.get(id));
  }

  #require(id: string): Key {
    const key = this.#find(id);
    if (key !== undefined) return key;
    if (this.#tables.keys.get(id) === undefined) throw missingKey(id);
    throw damaged(this.folder, `the record of key ${id} is damaged`);
  }

  #put(key: Key): void {
    this.#tables.keys.put(key.id, encodeKey(key));
  }

  /**
   * One transaction with the version's step: on the disk when it returns. The change must not return
   * a promise, such as that of a put: LMDB would take it for one that is still under way.
   */
  #change<T>(change: () => T): T {
    const { folder, keys, meta } = this.#tables;
    try {
      checkRoom(this.folder, [keys, meta], CHANGE_BYTES);
      return folder.environment.transactionSync(() => {
        const version = (this.contents()?.version ?? 0) + 1;
        const result = change();
        meta.put(CONTENTS, { version, ids: checksum(...keys.getKeys()) });
        return result;
      });
    } catch (error) {
      if (error instanceof KeyError) throw error;
      const reason = describeDiskFailure(error as Error, this.folder);
      const message = `the keys were not changed: ${reason}`;
      throw new KeyError(message, { cause: error });
    }
  }
}

/** For changing keys; where there are none yet, their folder is made, unless that is a mistake. */
export async function openKeyStore(
  dataDirectory: string,
  { create = true } = {},
): Promise<EmbeddedKeyStore> {
  const folder = keysFolder(dataDirectory);
  if (!create && readFileId(folder) === '') {
    throw new KeyError(`there are no keys in ${dataDirectory}`);
  }
  const tables = await openTables(folder, false);
  if (tables === undefined) throw new Error(`no tables were made in ${folder}`);
  return new EmbeddedKeyStore(folder, tables);
}

/** For reading keys; nothing is made, and where no key was ever made there is none. */
export async function openKeyReader(dataDirectory: string): Promise<KeyReader> {
  if (readStat(dataDirectory) === undefined) {
    throw new KeyError(`there is no folder ${dataDirectory}`);
  }
  const folder = keysFolder(dataDirectory);
  const deadlineMs = performance.now() + BEGUN_MS_MAX;
  for (; ; await sleep(BEGUN_LOOK_MS)) {
    const isThere = readFileId(folder) !== '';
    const tables = isThere ? await openTables(folder, true) : undefined;
    if (!isThere || tables !== undefined) {
      return new EmbeddedKeyReader(folder, tables, { canReopen: true });
    }
    if (performance.now() > deadlineMs) throw damaged(folder, 'there are no keys');
  }
}
