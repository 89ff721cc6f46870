/** Reads the processor time and the memory of processes from Linux. */

import { readFileSync } from 'node:fs';
import { childrenOf, readOwnBytes } from '../../tools/harness/processes.ts';

/** Linux counts processor time in hundredths of a second, on every processor. */
const TICKS_PER_SECOND = 100;
/**
 * The places of user time in /proc/PID/stat, each followed by system time: of the process itself,
 * and of its children that have ended.
 */
const OWN_TIME = 11;
const ENDED_TIME = 13;

function readTime(pid: number | 'self', place: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  // The name in brackets may have spaces, so the places are counted from the state after the name.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[place]) + Number(fields[place + 1])) / TICKS_PER_SECOND;
}

/** Returns the processor time of all threads so far, in seconds. */
export function cpuSeconds(pid: number): number {
  return readTime(pid, OWN_TIME);
}

/** Returns the process and its child processes, such as a server and its workers. */
function familyOf(pid: number): number[] {
  return [pid, ...childrenOf(pid)];
}

/** Returns the process and all its descendants, such as the processes of a browser. */
function treeOf(pid: number): number[] {
  return [pid, ...childrenOf(pid).flatMap(treeOf)];
}

/** Returns the processor time so far of a process and its child processes. */
export function cpuSecondsOfAll(pid: number): number {
  return familyOf(pid).reduce((sum, process) => sum + cpuSeconds(process), 0);
}

/** Returns the processor time of all child processes of this process that have ended. */
export function cpuSecondsOfEnded(): number {
  return readTime('self', ENDED_TIME);
}

/** Returns the anonymous memory of a process in megabytes, without the files that it has mapped. */
export function rssAnonMegabytes(pid: number): number {
  return readOwnBytes(pid) / 1e6;
}

/** Returns the anonymous memory of a process and its child processes, in megabytes. */
export function rssAnonMegabytesOfAll(pid: number): number {
  return familyOf(pid).reduce((sum, process) => sum + rssAnonMegabytes(process), 0);
}

/** Returns the processor time so far of a process and all its descendants, such as a browser. */
export function cpuSecondsOfTree(pid: number): number {
  return treeOf(pid).reduce((sum, process) => sum + cpuSeconds(process), 0);
}

export function rssAnonMegabytesOfTree(pid: number): number {
  return treeOf(pid).reduce((sum, process) => sum + rssAnonMegabytes(process), 0);
}
