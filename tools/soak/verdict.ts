/** Decides which figures may grow in a soak, and by how much. */

import type { ProcessSample } from './probe.ts';

export interface Figure {
  readonly name: keyof Omit<ProcessSample, 'timeMs' | 'cores'>;
  readonly title: string;
  readonly unit: string;
  /**
   * The quantile to compare: the median, or the lowest tenth if the figure includes requests in
   * flight.
   */
  readonly quantile: number;
  /** The allowed growth is this share of the earlier value, plus the slack. */
  readonly share: number;
  readonly slack: number;
  /** The maximum in the last quarter, whatever the earlier value was. */
  readonly max: number;
}

const MEMORY = { unit: 'MB', quantile: 0.5, share: 0.1 } as const;
const OPEN = { unit: '', quantile: 0.1, share: 0, slack: 5, max: 200 } as const;

/** The limits for an hour, per process. docs/internals/testing.md has the same table. */
export const FIGURES: readonly Figure[] = [
  { name: 'ownMegabytes', title: 'private memory', ...MEMORY, slack: 10, max: 400 },
  { name: 'heapMegabytes', title: 'heap used', ...MEMORY, slack: 5, max: 200 },
  { name: 'externalMegabytes', title: 'buffers', ...MEMORY, slack: 5, max: 100 },
  { name: 'descriptors', title: 'file descriptors', ...OPEN },
  { name: 'handles', title: 'handles', ...OPEN },
  {
    ...{ name: 'delayMs', title: 'event-loop delay p99', unit: 'ms' },
    ...{ quantile: 0.5, share: 0, slack: 10, max: 50 },
  },
];

/** A process that does nothing. If this process is late, the machine is busy with other work. */
export const IDLE_ROLE = 'idle process';
const BUSY_MS = 10;
/** The minimum number of samples of a calm machine for judging the delay in a quarter. */
const CALM_SAMPLES_MIN = 20;

/** One figure of one process, in the second quarter and in the last quarter. */
export interface Growth {
  readonly role: string;
  readonly figure: Figure;
  readonly before: number;
  readonly after: number;
  /**
   * True if the growth is within its limits; undefined if the machine was too busy for a decision.
   */
  readonly isWithin: boolean | undefined;
}

function quantileOf(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.floor(sorted.length * share)] ?? Number.NaN;
}

export function median(values: readonly number[]): number {
  return quantileOf(values, 0.5);
}

export interface SoakSpan {
  readonly startMs: number;
  readonly endMs: number;
}

type Samples = readonly ProcessSample[];

function between(samples: Samples, fromMs: number, toMs: number): Samples {
  return samples.filter(({ timeMs }) => timeMs >= fromMs && timeMs < toMs);
}

/** Returns the samples at whose time the idle process was not late. */
function whileCalm(samples: Samples, idle: Samples): Samples {
  let next = 0;
  return samples.filter(({ timeMs }) => {
    while (next + 1 < idle.length && idle[next].timeMs < timeMs) next++;
    return (idle[next]?.delayMs ?? 0) < BUSY_MS;
  });
}

/**
 * In a run shorter than this, memory still grows to its usual size, so the limits are multiplied by
 * the factor.
 */
const LOOSE_MS_MAX = 30 * 60_000;
const LOOSENESS = 4;

export function judgeGrowth(
  samplesByRole: ReadonlyMap<string, Samples>,
  { startMs, endMs }: SoakSpan,
): Growth[] {
  const looseness = endMs - startMs < LOOSE_MS_MAX ? LOOSENESS : 1;
  const quarterMs = (endMs - startMs) / 4;
  const samplesOf = (role: string, quarter: number) => {
    const fromMs = startMs + quarter * quarterMs;
    return between(samplesByRole.get(role) ?? [], fromMs, fromMs + quarterMs);
  };
  return [...samplesByRole.keys()].flatMap((role) =>
    FIGURES.map((figure): Growth => {
      const quarters = [1, 3].map((quarter) => samplesOf(role, quarter));
      const [before, after] = quarters.map((samples) =>
        quantileOf(
          samples.map((sample) => sample[figure.name]),
          figure.quantile,
        ),
      );
      const growth = { role, figure, before, after };
      if (figure.name !== 'delayMs') return { ...growth, isWithin: isWithin(growth, looseness) };
      const calm = [1, 3].map((quarter, index) =>
        whileCalm(quarters[index], samplesOf(IDLE_ROLE, quarter)).map(({ delayMs }) => delayMs),
      );
      if (calm.some(({ length }) => length < CALM_SAMPLES_MIN)) {
        return { ...growth, isWithin: undefined };
      }
      const [calmBefore, calmAfter] = calm.map(median);
      const ofCalm = { ...growth, before: calmBefore, after: calmAfter };
      return { ...ofCalm, isWithin: isWithin(ofCalm, looseness) };
    }),
  );
}

/**
 * True if the growth is within its limits. A quarter without samples gives NaN, which is never
 * within limits.
 */
function isWithin({ figure, before, after }: Omit<Growth, 'isWithin'>, looseness: number): boolean {
  const growthMax = looseness * (figure.share * before + figure.slack);
  return after <= before + growthMax && after <= looseness * figure.max;
}
