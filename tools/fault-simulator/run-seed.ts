/** Runs one seed of the fault simulator. The seed begins with the name of its world. */

import { runLedger } from './nats/ledger-run.ts';
import { planFaults } from './nats/nats-fault-plan.ts';
import { VenueRun } from './world/venue-run.ts';

/**
 * venue: a folder with its writer and workers. disk: the same on a disk that damages its data.
 * nats: writers and a reader of a ledger on NATS.
 */
export const WORLDS = ['venue', 'disk', 'nats'] as const;
export type World = (typeof WORLDS)[number];

/**
 * The time for which faults happen on NATS. It is long, because elections and leases take seconds.
 */
const NATS_FAULTY_MS = 40_000;

export interface SeedResult {
  readonly seed: string;
  readonly violation: string | undefined;
  /** The number of events by kind. */
  readonly counts: ReadonlyMap<string, number>;
  /** The faults and the warnings of the run, for finding the reason of a violation. */
  readonly story: readonly string[];
  /** A hash that is the same for two runs of a seed. */
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
