/** The faults of a run, drawn from its seed: what goes wrong, when, and for how long. */

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

/** What a disk does to what it holds, beside what it does in every run. */
export const DISK_FAULT_KINDS = [
  'change a digit of a block',
  'lose the last block in a power cut',
  'damage the newest snapshot',
  'run out of inodes',
] as const;

type FaultKind = (typeof FAULT_KINDS)[number] | (typeof DISK_FAULT_KINDS)[number];

/** Faults that a ledger does not recover from by itself: they must be noticed. */
const LASTING: readonly FaultKind[] = ['damage a block', 'lose a block'];
/** One run in so many has a fault that lasts. */
const LASTING_SHARE = 0.1;
const FAULTS_MAX = 7;

export interface Fault {
  readonly kind: FaultKind;
  readonly atMs: number;
  readonly forMs: number;
}

/** Faults between two times, in order. */
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

/** What a process that starts reads again. */
const RESTARTS: readonly FaultKind[] = ['kill a worker', 'kill the writer', 'cut the power'];

/** A few faults of the disk, each with a restart soon after it, which has to notice. */
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
