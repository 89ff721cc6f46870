/**
 * Measures times on a noisy machine. The two sides of a comparison take turns, and the result is
 * the median of the ratios.
 */

export interface Comparison {
  /** The median of the seconds that one run takes, for each side. */
  readonly ours: number;
  readonly reference: number;
  /** Our time divided by the reference's time, for each round. */
  readonly ratios: readonly number[];
}

export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const upper = sorted[Math.floor(sorted.length / 2)];
  const lower = sorted[Math.floor((sorted.length - 1) / 2)];
  return (lower + upper) / 2;
}

/** The spread of the results of several rounds. */
export interface Spread {
  readonly median: number;
  readonly min: number;
  readonly max: number;
}

export function spreadOf(values: readonly number[]): Spread {
  return { median: median(values), min: Math.min(...values), max: Math.max(...values) };
}

function secondsOf(run: () => void): number {
  const start = performance.now();
  run();
  return (performance.now() - start) / 1000;
}

const ROUNDS = 9;
/** The first rounds, which do not count because the engine still optimises the code. */
const WARM_UP_ROUNDS = 4;

export function compare(ours: () => void, reference: () => void): Comparison {
  const pairs: { ours: number; reference: number }[] = [];
  for (let round = 0; round < WARM_UP_ROUNDS + ROUNDS; round++) {
    const pair = { reference: secondsOf(reference), ours: secondsOf(ours) };
    if (round >= WARM_UP_ROUNDS) pairs.push(pair);
  }
  return {
    ours: median(pairs.map((pair) => pair.ours)),
    reference: median(pairs.map((pair) => pair.reference)),
    ratios: pairs.map((pair) => pair.ours / pair.reference),
  };
}
