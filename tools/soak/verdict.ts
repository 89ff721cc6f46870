/** What may grow in a soak, and by how much. */

import type { ProcessSample } from './probe.ts';

export interface Figure {
  readonly name: keyof Omit<ProcessSample, 'timeMs' | 'cores'>;
  readonly title: string;
  readonly unit: string;
  /** What is compared: the median, or the lowest tenth where requests in flight come and go. */
  readonly quantile: number;
  /** It may grow by this share of what it was, and by this slack. */
  readonly share: number;
  readonly slack: number;
  /** In the last quarter at most, whatever it was before. */
  readonly max: number;
}

const MEMORY = { unit: 'MB', quantile: 0.5, share: 0.1 } as const;
const OPEN = { unit: '', quantile: 0.1, share: 0, slack: 5, max: 200 } as const;

/** The limits of an hour, per process; docs/internals/testing.md has the same table. */
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

/** A process that does nothing: where it is late, the machine is busy with other things. */
export const IDLE_ROLE = 'idle process';
const BUSY_MS = 10;
/** So many samples of a calm machine are needed to judge the delay of a quarter. */
const CALM_SAMPLES_MIN = 20;

/** One figure of one process in the second and in the last quarter. */
export interface Growth {
  readonly role: string;
  readonly figure: Figure;
  readonly before: number;
  readonly after: number;
  /** Undefined if the machine was too busy to tell. */
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

/** The samples next to which the idle process came in time. */
function whileCalm(samples: Samples, idle: Samples): Samples {
  let next = 0;
  return samples.filter(({ timeMs }) => {
    while (next + 1 < idle.length && idle[next].timeMs < timeMs) next++;
    return (idle[next]?.delayMs ?? 0) < BUSY_MS;
  });
}

/** In a shorter run memory is still warming up, so that much more may grow. */
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

/** NaN, of a quarter without samples, is within nothing. */
function isWithin({ figure, before, after }: Omit<Growth, 'isWithin'>, looseness: number): boolean {
  const growthMax = looseness * (figure.share * before + figure.slack);
  return after <= before + growthMax && after <= looseness * figure.max;
}
