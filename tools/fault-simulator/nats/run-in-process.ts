/**
 * Runs code with simulated NATS servers, in simulated time: a wait of a minute takes no real time.
 */

import { DiskFaults } from '../system/disk-faults.ts';
import { Kernel } from '../system/kernel.ts';
import { SimulatedFiles } from '../system/simulated-files.ts';
import { onSystem } from '../system/virtual-system.ts';
import { SimulatedNats } from './simulated-nats.ts';

const UNTIL_MS = 600_000;

/** Runs the work in a simulated process, and returns its result. */
export async function runInProcess<T>(
  serverCount: 1 | 3,
  work: (nats: SimulatedNats, kernel: Kernel) => Promise<T>,
): Promise<T> {
  const kernel = new Kernel('process');
  const nats = new SimulatedNats(kernel, serverCount);
  const files = new SimulatedFiles(kernel, new DiskFaults(kernel.random));
  let outcome: { readonly value: T } | { readonly error: unknown } | undefined;
  const main = () =>
    void work(nats, kernel).then(
      (value) => {
        outcome = { value };
      },
      (error: unknown) => {
        outcome = { error };
      },
    );
  await onSystem({ kernel, files, connect: nats.connect }, async () => {
    kernel.start('process', main);
    await kernel.run(UNTIL_MS, () => outcome !== undefined);
  });
  if (outcome === undefined) throw new Error('it did not end');
  if ('error' in outcome) throw outcome.error;
  return outcome.value;
}
