/**
 * Exclusive ownership: of all processes, one at a time may write. A record names the owner, and
 * another process takes over the record once the owner has ended. The record has three forms:
 *
 *   owner-entry.ts         an entry in a table of LMDB: the writer of a ledger, or of an archive
 *   owner-file.ts          a file next to the file that is written: a backup
 *   ../jetstream/lease.ts  an entry on NATS with a TTL: the writer of a ledger, or of published snapshots
 *
 * A process id is unique only within its process namespace (each container has one) and until the
 * next boot, so both are part of the identity. A process of another namespace cannot be checked. In
 * a folder, the sockets of presence.ts exclude such a process; as the owner of a file, it counts as
 * running; on NATS, its lease expires.
 */

import { readFileSync, readlinkSync } from 'node:fs';

export interface ProcessIdentity {
  readonly pid: number;
  /** The process's start time, because process ids are reused. */
  readonly startedAt: string;
  /** The kernel's id of this boot; "" if the system has none. */
  readonly boot: string;
  /** The process namespace, such as "pid:[4026531836]"; "" if the system has none. */
  readonly namespace: string;
}

/**
 * unknown: the process is in another namespace, boot or machine, so this process cannot check it.
 */
export type ProcessStatus = 'running' | 'ended' | 'unknown';

/**
 * Returns the start time of a process, the 22nd field of /proc/PID/stat; returns "" if there is no
 * such file.
 */
function readStartTime(pid: number): string {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // The second field is the program's name in brackets. The name may itself contain spaces and
    // brackets.
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19] ?? '';
  } catch {
    return '';
  }
}

/** Returns the trimmed text of a file; returns "" on systems without this file. */
function readOrEmpty(read: () => string): string {
  try {
    return read().trim();
  } catch {
    return '';
  }
}

function readBoot(): string {
  return readOrEmpty(() => readFileSync('/proc/sys/kernel/random/boot_id', 'utf8'));
}

export function readNamespace(): string {
  return readOrEmpty(() => readlinkSync('/proc/self/ns/pid'));
}

export function describeProcess(): ProcessIdentity {
  const { pid } = process;
  return { pid, startedAt: readStartTime(pid), boot: readBoot(), namespace: readNamespace() };
}

export function processStatus(identity: ProcessIdentity): ProcessStatus {
  const { pid, startedAt, boot, namespace } = identity;
  if (boot !== readBoot() || namespace !== readNamespace()) return 'unknown';
  return isProcess(pid) && readStartTime(pid) === startedAt ? 'running' : 'ended';
}

/** True if a process with this id exists in our namespace. */
export function isProcess(pid: number): boolean {
  try {
    return process.kill(pid, 0); // Signal 0 only checks.
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}
