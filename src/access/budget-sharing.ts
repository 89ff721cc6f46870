/**
 * Synchronizes the budgets of several processes. Each process charges its own buckets at once, and
 * sends its charges to the other processes many times a second.
 */

import type { Budgets, Charge } from './budgets.ts';

/** A process sends its charges at this interval. */
const SHARE_MS = 25;

/**
 * A channel to the other processes. The channel may lose charges: a key can then spend more than
 * its budget.
 */
export interface ChargeChannel {
  /** Sends the charges of this process. */
  send(charges: readonly Charge[]): void;
  /**
   * Calls `absorb` with the charges of other processes: each charge once, and never the charges of
   * this process.
   */
  onCharges(absorb: (charges: readonly Charge[]) => void): void;
}

/**
 * Sends charges to every channel and absorbs the received charges. Returns a function that ends the
 * synchronization.
 */
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
