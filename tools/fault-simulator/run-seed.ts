/** One run of the simulator of faults. The seed begins with the world that it is of. */

import { runLedger } from './nats/ledger-run.ts';
import { planFaults } from './nats/nats-fault-plan.ts';
import { VenueRun } from './world/venue-run.ts';

/**
 * venue: a folder, its writer and workers. disk: the same on a disk that damages what it holds. nats:
 * writers and a reader of a ledger on NATS.
 */
export const WORLDS = ['venue', 'disk', 'nats'] as const;
export type World = (typeof WORLDS)[number];

/** For how long faults happen on NATS, whose elections and leases take seconds. */
const NATS_FAULTY_MS = 40_000;

export interface SeedResult {
  readonly seed: string;
  readonly violation: string | undefined;
  /** What happened, by kind. */
  readonly counts: ReadonlyMap<string, number>;
  /** What went wrong on purpose and what was reported, to look into a violation. */
  readonly story: readonly string[];
  /** Two runs of a seed have the same. */
  readonly traceHash: string;
}

export async function runSeed(seed: string): Promise<SeedResult> {
  const [world] = seed.split('/');
  if (world === 'venue' || world === 'disk') return new VenueRun(seed).run();
  if (world === 'nats') return runOnNats(seed);
  throw new Error(`seed: got ${seed}, expected one that begins with ${WORLDS.join('/ or ')}/`);
}

async function runOnNats(seed: string): Promise<SeedResult> {
  const isCluster = !seed.endsWith('1');
  const result = await runLedger({
    seed,
    serverCount: isCluster ? 3 : 1,
    faultyMs: NATS_FAULTY_MS,
    plan: planFaults,
  });
  const counts = new Map(result.faultCounts);
  for (const count of result.acknowledgedCounts.values()) {
    counts.set('blocks acknowledged', (counts.get('blocks acknowledged') ?? 0) + count);
  }
  const { traceHash, failures } = result;
  return { seed, violation: failures[0], counts, story: failures, traceHash };
}
