/**
 * Which processes have an LMDB folder open. LMDB knows its readers by process number. Two containers
 * number their processes each for itself, so one's process 1 would free the pages that the other's
 * still reads, and neither would see that the other one writes. Such a second user is refused.
 *
 * Each process listens on a socket in the folder, users/NAMESPACE-PID. The kernel refuses
 * connections to it once the process has ended, however it did: no heartbeat, no clock. Whoever
 * comes adds its own socket first and looks for others afterwards, so that of two that come at once
 * the later one sees the other.
 */

import {
  closeSync,
  type Dirent,
  openSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
} from 'node:fs';
import { connect, createServer, type Server } from 'node:net';
import path from 'node:path';
import { makeFolder } from '../folder.ts';
import { LedgerError } from './ledger.ts';
import { isProcess, readNamespace } from './process-identity.ts';

const USERS = 'users';
const NAME = /^(\d+)-(\d+)$/;

/** The number in "pid:[4026531836]"; undefined where the system has no process namespaces. */
function namespaceNumber(): string | undefined {
  return /\[(\d+)\]/.exec(readNamespace())?.[1];
}

/**
 * A path to a file in a folder that is short enough for a socket: 108 bytes at most, whatever the
 * folder's own path is.
 */
async function throughHandle<T>(folder: string, use: (short: string) => Promise<T>): Promise<T> {
  const handle = openSync(folder, 'r');
  try {
    return await use(`/proc/self/fd/${handle}`);
  } finally {
    closeSync(handle);
  }
}

function listen(socketPath: string): Promise<Server> {
  return new Promise((resolve, reject) => {
    const server = createServer((socket) => socket.destroy());
    server.once('error', reject);
    // Exclusive: by this process itself, also where it is a worker.
    server.listen({ path: socketPath, exclusive: true }, () => resolve(server));
    server.unref();
  });
}

/** Whether somebody listens on the socket. */
function isAlive(socketPath: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(socketPath, () => {
      socket.destroy();
      resolve(true);
    });
    socket.once('error', ({ code }: NodeJS.ErrnoException) => {
      resolve(code !== 'ECONNREFUSED' && code !== 'ENOENT');
    });
  });
}

/** When a socket was made, in nanoseconds; undefined where it is gone. */
function madeAt(file: string): bigint | undefined {
  return statSync(file, { bigint: true, throwIfNoEntry: false })?.mtimeNs;
}

export class FolderUse {
  readonly #folder: string;
  readonly #users: string;
  readonly #namespace: string;
  /** Undefined where the folder takes no socket, as one that is read-only. */
  #server: Server | undefined;
  #openings = 1;

  private constructor(folder: string, namespace: string) {
    this.#folder = folder;
    this.#users = path.join(folder, USERS);
    this.#namespace = namespace;
  }

  /** By folder: a process that opens one several times is one user. */
  static readonly #inUse = new Map<string, FolderUse>();

  /** Undefined where there is nothing to look after: a system without process namespaces. */
  static async enter(folder: string): Promise<FolderUse | undefined> {
    const namespace = namespaceNumber();
    if (namespace === undefined) return undefined;
    const resolved = path.resolve(folder);
    const open = FolderUse.#inUse.get(resolved);
    if (open !== undefined) {
      open.#openings++;
      return open;
    }
    const use = new FolderUse(resolved, namespace);
    FolderUse.#inUse.set(resolved, use);
    try {
      await use.#register();
      await use.check();
      use.#removeEnded();
      return use;
    } catch (error) {
      use.leave();
      throw error;
    }
  }

  get #name(): string {
    return `${this.#namespace}-${process.pid}`;
  }

  get #socket(): string {
    return path.join(this.#users, this.#name);
  }

  async #register(): Promise<void> {
    try {
      makeFolder(this.#users);
      const draft = `${this.#name}.draft`;
      rmSync(path.join(this.#users, draft), { force: true });
      this.#server = await throughHandle(this.#users, (short) => listen(`${short}/${draft}`));
      // It appears under its name when it can be connected to, not before.
      renameSync(path.join(this.#users, draft), this.#socket);
    } catch {
      // A folder that cannot be written to, or takes no sockets: whoever reads must not fail for it.
      this.#server?.close();
      this.#server = undefined;
    }
  }

  /** Throws where a process of another namespace had the folder open before this one. */
  async check(): Promise<void> {
    for (const { name } of listSockets(this.#users)) {
      const [, namespace] = NAME.exec(name) ?? [];
      if (namespace === undefined || namespace === this.#namespace) continue;
      if (!this.#isBefore(name)) continue;
      const file = path.join(this.#users, name);
      const lives = await throughHandle(this.#users, (short) => isAlive(`${short}/${name}`));
      if (lives) throw refusal(this.#folder);
      removeQuietly(file);
    }
  }

  /** Whether another's socket is older than our own: of two that come at once, one must win. */
  #isBefore(name: string): boolean {
    const own = this.#server === undefined ? undefined : madeAt(this.#socket);
    const other = madeAt(path.join(this.#users, name));
    if (own === undefined || other === undefined) return other !== undefined;
    return other < own || (other === own && name < this.#name);
  }

  /** What processes of this namespace have left behind. */
  #removeEnded(): void {
    for (const { name } of listSockets(this.#users)) {
      const [, namespace, pid] = NAME.exec(name) ?? [];
      if (namespace !== this.#namespace || isProcess(Number(pid))) continue;
      removeQuietly(path.join(this.#users, name));
    }
  }

  leave(): void {
    if (--this.#openings > 0) return;
    FolderUse.#inUse.delete(this.#folder);
    if (this.#server === undefined) return;
    this.#server.close();
    removeQuietly(this.#socket);
  }
}

function listSockets(folder: string): Dirent[] {
  try {
    return readdirSync(folder, { withFileTypes: true }).filter((entry) => entry.isSocket());
  } catch {
    return [];
  }
}

/** What is left behind is found dead by whoever comes next. */
function removeQuietly(file: string): void {
  try {
    rmSync(file, { force: true });
  } catch {
    // On a read-only disk it stays.
  }
}

function refusal(folder: string): LedgerError {
  const message =
    `${folder} is open in another process namespace, that is in another container: ` +
    'run both commands in one container (docker exec), or give them one process namespace ' +
    '(docker run --pid container:NAME)';
  return new LedgerError('busy', message);
}
