/** The faults of a run, drawn from its seed: the kind, the time and the duration of each fault. */

import type { Random } from '../../../src/simulator/random.ts';

export const FAULT_KINDS = [
  'kill the writer',
  'kill the writer at a write',
  'kill a worker',
  'cut the power',
  'pause the writer',
  'pause a worker',
  'fill the disk',
  'slow the disk',
  'fail reads',
  'shorten reads and writes',
  'set the clock',
  'lose messages between workers',
  'change keys',
  'damage a snapshot',
  'damage a block',
  'damage a key',
  'lose a block',
] as const;

/** Kinds of damage that a disk does to its data, in addition to the faults of every run. */
export const DISK_FAULT_KINDS = [
  'change a digit of a block',
  'lose the last block in a power cut',
  'damage the newest snapshot',
  'run out of inodes',
] as const;

type FaultKind = (typeof FAULT_KINDS)[number] | (typeof DISK_FAULT_KINDS)[number];

/** Faults from which a ledger does not recover by itself. They must be noticed. */
const LASTING: readonly FaultKind[] = ['damage a block', 'lose a block'];
/** The share of runs with a fault that lasts. */
const LASTING_SHARE = 0.1;
const FAULTS_MAX = 7;

export interface Fault {
  readonly kind: FaultKind;
  readonly atMs: number;
  readonly forMs: number;
}

/** Draws faults between two times, in order. */
export function drawFaults(random: Random, fromMs: number, toMs: number): Fault[] {
  const hasLasting = random.chance(LASTING_SHARE);
  const kinds = FAULT_KINDS.filter((kind) => hasLasting || !LASTING.includes(kind));
  const count = random.below(FAULTS_MAX + 1);
  return Array.from({ length: count }, () => ({
    kind: random.pick(kinds),
    atMs: random.between(fromMs, toMs),
    forMs: random.between(20, 1_500),
  })).sort((a, b) => a.atMs - b.atMs);
}

/** Restarts of a process, which then reads the disk again. */
const RESTARTS: readonly FaultKind[] = ['kill a worker', 'kill the writer', 'cut the power'];

/**
 * Draws a few faults of the disk. Each fault is followed by a restart, after which it must be
 * noticed.
 */
export function drawDiskFaults(random: Random, fromMs: number, toMs: number): Fault[] {
  const faults: Fault[] = [];
  const count = 1 + random.below(3);
  for (let index = 0; index < count; index++) {
    const atMs = random.between(fromMs, toMs);
    const forMs = random.between(200, 1_500);
    faults.push({ kind: random.pick(DISK_FAULT_KINDS), atMs, forMs });
    const laterMs = random.between(1, 600);
    faults.push({ kind: random.pick(RESTARTS), atMs: atMs + laterMs, forMs });
  }
  return faults.sort((a, b) => a.atMs - b.atMs);
}

export function describeFault({ kind, atMs, forMs }: Fault): string {
  return `${atMs.toFixed(0)} ms: ${kind}, ${forMs.toFixed(0)} ms`;
}
