/** What a process takes of the machine, as Linux tells it. */

import { readFileSync } from 'node:fs';
import { childrenOf, readOwnBytes } from '../../tools/harness/processes.ts';

/** Linux counts processor time in hundredths of a second, whatever the processor does. */
const TICKS_PER_SECOND = 100;
/** The places of user and system time: the process's own, and that of children that have ended. */
const OWN_TIME = 11;
const ENDED_TIME = 13;

function readTime(pid: number | 'self', place: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  // The name, in brackets, may hold spaces; the places are counted from the state after it.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[place]) + Number(fields[place + 1])) / TICKS_PER_SECOND;
}

/** Processor time so far, in seconds, of all threads. */
export function cpuSeconds(pid: number): number {
  return readTime(pid, OWN_TIME);
}

/** The process and those that it has started: a server whose workers are processes. */
function familyOf(pid: number): number[] {
  return [pid, ...childrenOf(pid)];
}

/** The process, those that it has started, and those that they have started: a browser. */
function treeOf(pid: number): number[] {
  return [pid, ...childrenOf(pid).flatMap(treeOf)];
}

/** Processor time so far of a process and those that it has started. */
export function cpuSecondsOfAll(pid: number): number {
  return familyOf(pid).reduce((sum, process) => sum + cpuSeconds(process), 0);
}

/** Processor time of all processes that this one has started and that have ended. */
export function cpuSecondsOfEnded(): number {
  return readTime('self', ENDED_TIME);
}

/** Memory of its own, without files that it has mapped, in megabytes. */
export function rssAnonMegabytes(pid: number): number {
  return readOwnBytes(pid) / 1e6;
}

/** The same of a process and those that it has started. */
export function rssAnonMegabytesOfAll(pid: number): number {
  return familyOf(pid).reduce((sum, process) => sum + rssAnonMegabytes(process), 0);
}

/** Processor time so far of a browser. */
export function cpuSecondsOfTree(pid: number): number {
  return treeOf(pid).reduce((sum, process) => sum + cpuSeconds(process), 0);
}

export function rssAnonMegabytesOfTree(pid: number): number {
  return treeOf(pid).reduce((sum, process) => sum + rssAnonMegabytes(process), 0);
}
