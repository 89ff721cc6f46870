/**
 * How processes that answer for the same keys keep their budgets in step: each charges its own
 * buckets at once, and tells the others many times a second what it has charged.
 */

import type { Budgets, Charge } from './budgets.ts';

/** How often a process tells the others what it has charged. */
const SHARE_MS = 25;

/** A way to the other processes. What gets lost on it is a charge that they do not know of. */
export interface ChargeChannel {
  /** Passes on what was charged in this process. */
  tell(charges: readonly Charge[]): void;
  /** Called with what others have charged; each charge comes once, and never one of our own. */
  onCharges(absorb: (charges: readonly Charge[]) => void): void;
}

/** Tells every channel what is charged here, and takes in what comes from each. Returns the stop. */
export function shareBudgets(budgets: Budgets, channels: readonly ChargeChannel[]): () => void {
  for (const channel of channels) {
    channel.onCharges((charges) => budgets.absorb(charges, performance.now()));
  }
  const timer = setInterval(() => {
    const charges = budgets.takeCharges();
    if (charges.length === 0) return;
    for (const channel of channels) channel.tell(charges);
  }, SHARE_MS);
  timer.unref();
  return () => clearInterval(timer);
}
