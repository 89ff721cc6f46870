/** What a process takes of the machine, as Linux tells it. */

import { readFileSync } from 'node:fs';

/** Linux counts processor time in hundredths of a second, whatever the processor does. */
const TICKS_PER_SECOND = 100;

/** Processor time so far, in seconds, of all threads. */
export function cpuSeconds(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  // The name, in brackets, may hold spaces; after it come the state and 10 fields, then user and system.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND;
}

/** Memory of its own, without files that it has mapped, in megabytes. */
export function rssAnonMegabytes(pid: number): number {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  return (Number(/^RssAnon:\s+(\d+) kB$/m.exec(status)?.[1]) * 1024) / 1e6;
}
