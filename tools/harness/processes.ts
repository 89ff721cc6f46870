/** Reads what Linux reports about a process. */

import { readdirSync, readFileSync } from 'node:fs';

/** Bytes of memory of the process itself, without the files that the process has mapped. */
export function readOwnBytes(pid: number | 'self' | undefined): number {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  return Number(/^RssAnon:\s+(\d+) kB$/m.exec(status)?.[1]) * 1024;
}

/** The running processes that any thread of a process has started. */
export function childrenOf(pid: number): number[] {
  return readdirSync(`/proc/${pid}/task`)
    .flatMap((thread) => readFileSync(`/proc/${pid}/task/${thread}/children`, 'utf8').split(' '))
    .filter(Boolean)
    .map(Number);
}
