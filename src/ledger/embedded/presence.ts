/**
 * Detects which processes use a folder, across process namespaces, in order of arrival.
 *
 * Each process listens on a socket in the folder, users/NAMESPACE-PID. The kernel refuses connections
 * to it after the process has ended, for whatever reason: this needs no heartbeats and no clocks. A
 * process creates its own socket before it looks for others, so that of two concurrent processes at
 * least the later one sees the other.
 */

import { type Dirent, readdirSync, renameSync, rmSync, statSync } from 'node:fs';
import { connect, createServer, type Server } from 'node:net';
import path from 'node:path';
import { isProcess, readNamespace } from '../ownership/process-identity.ts';
import { makeFolder } from './folder.ts';
import { withShortPath } from './socket-path.ts';

const USERS = 'users';
const NAME = /^(\d+)-(\d+)$/;
/** Stands for the namespace on systems without process namespaces. */
const NO_NAMESPACE = '0';

/** The namespace in a socket's name; undefined if the name has another form. */
function namespaceOf(name: string): string | undefined {
  return NAME.exec(name)?.[1];
}

/** The number in "pid:[4026531836]". */
function namespaceNumber(): string {
  return /\[(\d+)\]/.exec(readNamespace())?.[1] ?? NO_NAMESPACE;
}

function listenOnSocket(socketPath: string): Promise<Server> {
  return new Promise((resolve, reject) => {
    const server = createServer((socket) => socket.destroy());
    server.once('error', reject);
    // `exclusive`, since a worker of a cluster would otherwise listen through its primary.
    server.listen({ path: socketPath, exclusive: true }, () => resolve(server));
    server.unref();
  });
}

/** True if a process listens on the socket. */
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
 * When a socket got its final name, in nanoseconds; undefined if it is gone. Not when it was created:
 * of two concurrent processes, one may create its socket first and become visible last.
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

/** A socket of an ended process is harmless: the next process finds that it refuses connections. */
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
  /** Undefined if no socket can be created, as in a read-only folder. */
  #server: Server | undefined;
  #entries = 1;

  private constructor(folder: string) {
    this.#folder = folder;
    this.#users = path.join(folder, USERS);
  }

  /** The presences by folder: a process that enters the same folder several times has one socket there. */
  static readonly #entered = new Map<string, Presence>();

  /** Never fails: in a read-only folder this process sees others, but they do not see it. */
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
      // Renamed last, so that the name appears only when the socket accepts connections.
      renameSync(path.join(this.#users, draft), this.#socket);
    } catch {
      this.#server?.close();
      this.#server = undefined;
    }
  }

  /** True if an earlier process is still running. */
  hasEarlier(): Promise<boolean> {
    return this.#hasAlive((name, order) => order < 0 || (order === 0 && name < this.#name));
  }

  /**
   * True if a process of another namespace is still running that did not come later. If two processes
   * announced themselves within a tick of the clock, one may have looked before the other was visible:
   * both get true.
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
   * Negative if it was announced before this process, positive if after; 0 if at the same time. A
   * process that others cannot see is later than all of them.
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
