/** Which process is which, so that a writer that was killed is told from one that still runs. */

import { readFileSync } from 'node:fs';

export interface ProcessIdentity {
  readonly pid: number;
  /** When the process started, as the system counts it: a number that was used again differs. */
  readonly startedAt: string;
}

/** The 22nd field of /proc/PID/stat; "" where the system has no such file or no such process. */
function readStartTime(pid: number): string {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // The second field is the program's name in brackets, and may itself hold spaces and brackets.
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19] ?? '';
  } catch {
    return '';
  }
}

export function describeProcess(): ProcessIdentity {
  return { pid: process.pid, startedAt: readStartTime(process.pid) };
}

export function isRunning({ pid, startedAt }: ProcessIdentity): boolean {
  try {
    process.kill(pid, 0); // Signal 0 only asks.
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM' && readStartTime(pid) === startedAt;
  }
  return readStartTime(pid) === startedAt;
}
