/** The faults of a run, drawn from its seed: what goes wrong, when, and for how long. */

import type { Random } from '../../../src/feed/simulator/random.ts';

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

type FaultKind = (typeof FAULT_KINDS)[number];

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

export function describeFault({ kind, atMs, forMs }: Fault): string {
  return `${atMs.toFixed(0)} ms: ${kind}, ${forMs.toFixed(0)} ms`;
}
