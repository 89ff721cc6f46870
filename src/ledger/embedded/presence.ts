/**
 * Detects which processes use a folder, across process namespaces, and in which order they arrived.
 *
 * Each process listens on a socket in the folder, users/NAMESPACE-PID. After the process has ended,
 * for whatever reason, the kernel refuses connections to the socket, so no heartbeats are needed. A
 * process creates its socket before it looks for others, so that of two concurrent processes at
 * least the later process sees the other.
 */

import { type Dirent, readdirSync, renameSync, rmSync, statSync } from 'node:fs';
import { connect, createServer, type Server } from 'node:net';
import path from 'node:path';
import { isProcess, readNamespace } from '../ownership/process-identity.ts';
import { makeFolder } from './folder.ts';
import { withShortPath } from './socket-path.ts';

const USERS = 'users';
const NAME = /^(\d+)-(\d+)$/;
/** The value used as the namespace on systems without process namespaces. */
const NO_NAMESPACE = '0';

/** Returns the namespace in a socket's name; returns undefined if the name has another form. */
function namespaceOf(name: string): string | undefined {
  return NAME.exec(name)?.[1];
}

/** Returns the number in "pid:[4026531836]", the name of this process's namespace. */
function namespaceNumber(): string {
  return /\[(\d+)\]/.exec(readNamespace())?.[1] ?? NO_NAMESPACE;
}

function listenOnSocket(socketPath: string): Promise<Server> {
  return new Promise((resolve, reject) => {
    const server = createServer((socket) => socket.destroy());
    server.once('error', reject);
    // `exclusive`, because otherwise a worker of a cluster would listen through its primary
    // process.
    server.listen({ path: socketPath, exclusive: true }, () => resolve(server));
    server.unref();
  });
}

/** True if a process listens on the socket, or if that cannot be ruled out. */
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

/**
 * Returns the time, in nanoseconds, at which a socket got its final name; returns undefined if the
 * socket no longer exists. The time of its creation would be wrong: of two concurrent processes,
 * one may create its socket first and become visible last.
 */
function readAnnouncementTime(file: string): bigint | undefined {
  return statSync(file, { bigint: true, throwIfNoEntry: false })?.ctimeNs;
}

function listSockets(folder: string): Dirent[] {
  try {
    return readdirSync(folder, { withFileTypes: true }).filter((entry) => entry.isSocket());
  } catch {
    return [];
  }
}

/**
 * Removes a socket and ignores a failure: the socket of an ended process is harmless, because it
 * refuses connections.
 */
function removeQuietly(file: string): void {
  try {
    rmSync(file, { force: true });
  } catch {
    // The disk is read-only.
  }
}

export class Presence {
  readonly #folder: string;
  readonly #users: string;
  readonly #namespace = namespaceNumber();
  readonly #name = `${this.#namespace}-${process.pid}`;
  /** Undefined if no socket can be created, for example in a read-only folder. */
  #server: Server | undefined;
  #entries = 1;

  private constructor(folder: string) {
    this.#folder = folder;
    this.#users = path.join(folder, USERS);
  }

  /** The presences by folder: a process that enters the same folder several times has one socket there. */
  static readonly #entered = new Map<string, Presence>();

  /**
   * Enters a folder, and never fails: in a read-only folder this process sees others, but they do
   * not see it.
   */
  static async enter(folder: string): Promise<Presence> {
    const resolved = path.resolve(folder);
    const entered = Presence.#entered.get(resolved);
    if (entered !== undefined) {
      entered.#entries++;
      return entered;
    }
    const presence = new Presence(resolved);
    Presence.#entered.set(resolved, presence);
    await presence.#announce();
    presence.#removeEnded();
    return presence;
  }

  /** True if others can see this process. */
  get isAnnounced(): boolean {
    return this.#server !== undefined;
  }

  get #socket(): string {
    return path.join(this.#users, this.#name);
  }

  async #announce(): Promise<void> {
    try {
      await makeFolder(this.#users);
      const draft = `${this.#name}.draft`;
      rmSync(path.join(this.#users, draft), { force: true });
      this.#server = await withShortPath(this.#users, (short) =>
        listenOnSocket(`${short}/${draft}`),
      );
      // The socket is renamed last, so that the name appears only when the socket accepts
      // connections.
      renameSync(path.join(this.#users, draft), this.#socket);
    } catch {
      this.#server?.close();
      this.#server = undefined;
    }
  }

  /** True if a process that arrived earlier is still running. */
  hasEarlier(): Promise<boolean> {
    return this.#hasAlive((name, order) => order < 0 || (order === 0 && name < this.#name));
  }

  /**
   * True if a process of another namespace is running and did not arrive after this process. If two
   * processes arrived within one tick of the clock, one of them may have looked before the other
   * was visible, so both get true.
   */
  hasEarlierElsewhere(): Promise<boolean> {
    return this.#hasAlive((name, order) => order <= 0 && namespaceOf(name) !== this.#namespace);
  }

  async #hasAlive(isMeant: (name: string, order: number) => boolean): Promise<boolean> {
    for (const { name } of listSockets(this.#users)) {
      if (namespaceOf(name) === undefined || name === this.#name) continue;
      if (!isMeant(name, this.#orderOf(name))) continue;
      if (await withShortPath(this.#users, (short) => isAlive(`${short}/${name}`))) return true;
      removeQuietly(path.join(this.#users, name));
    }
    return false;
  }

  /**
   * Returns a negative number if the process with this socket arrived before this process, a
   * positive number if it arrived after, and 0 if both arrived at the same time. A process that
   * others cannot see counts as later than all of them.
   */
  #orderOf(name: string): number {
    const own = this.isAnnounced ? readAnnouncementTime(this.#socket) : undefined;
    const other = readAnnouncementTime(path.join(this.#users, name));
    if (other === undefined) return 1;
    if (own === undefined) return -1;
    return Math.sign(Number(other - own));
  }

  /** Removes the sockets of ended processes of this namespace. */
  #removeEnded(): void {
    for (const { name } of listSockets(this.#users)) {
      const [, namespace, pid] = NAME.exec(name) ?? [];
      if (namespace !== this.#namespace || isProcess(Number(pid))) continue;
      removeQuietly(path.join(this.#users, name));
    }
  }

  leave(): void {
    if (--this.#entries > 0) return;
    Presence.#entered.delete(this.#folder);
    if (this.#server === undefined) return;
    this.#server.close();
    removeQuietly(this.#socket);
  }
}
