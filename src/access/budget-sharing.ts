/**
 * Synchronizes the budgets of several processes: each charges its own buckets at once, and sends its
 * charges to the others many times a second.
 */

import type { Budgets, Charge } from './budgets.ts';

/** A process sends its charges this often. */
const SHARE_MS = 25;

/** A channel to the other processes; lossy: a lost charge only lets a key overdraw. */
export interface ChargeChannel {
  /** Sends the charges of this process. */
  send(charges: readonly Charge[]): void;
  /** Calls back with the charges of other processes, each once, never our own. */
  onCharges(absorb: (charges: readonly Charge[]) => void): void;
}

/** Sends charges to every channel and absorbs those received. Returns a function that stops it. */
export function shareBudgets(budgets: Budgets, channels: readonly ChargeChannel[]): () => void {
  for (const channel of channels) {
    channel.onCharges((charges) => budgets.absorb(charges, performance.now()));
  }
  const timer = setInterval(() => {
    const charges = budgets.takeCharges();
    if (charges.length === 0) return;
    for (const channel of channels) channel.send(charges);
  }, SHARE_MS);
  timer.unref();
  return () => clearInterval(timer);
}
