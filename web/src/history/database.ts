/** An object store of the browser's database, with promises. */

type Work<T> = (store: IDBObjectStore) => T | Promise<T>;

/**
 * Opens its database at the first use, and creates the database if it does not exist. If storage is
 * switched off or full, no call fails, but the values are lost after this visit.
 */
export class BrowserStore {
  readonly #database: string;
  readonly #name: string;
  readonly #create: (database: IDBDatabase) => void;
  #opened: Promise<IDBDatabase> | undefined;

  constructor(database: string, name: string, create: (database: IDBDatabase) => void) {
    this.#database = database;
    this.#name = name;
    this.#create = create;
  }

  /** Returns the result of the work, or `otherwise` if storage is not available. */
  read<T>(otherwise: T, work: Work<T>): Promise<T> {
    return this.#run('readonly', otherwise, work);
  }

  write(work: Work<unknown>): Promise<unknown> {
    return this.#run<unknown>('readwrite', undefined, work);
  }

  clear(): Promise<unknown> {
    return this.write((store) => requestResult(store.clear()));
  }

  async #run<T>(mode: IDBTransactionMode, otherwise: T, work: Work<T>): Promise<T> {
    try {
      this.#opened ??= this.#open();
      const transaction = (await this.#opened).transaction(this.#name, mode);
      return await work(transaction.objectStore(this.#name));
    } catch {
      return otherwise;
    }
  }

  #open(): Promise<IDBDatabase> {
    const request = indexedDB.open(this.#database, 1);
    request.onupgradeneeded = () => this.#create(request.result);
    return requestResult(request);
  }
}

export function requestResult<T>(request: IDBRequest<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });
}
