/** Asks for the margin tiers of all markets, only while "What if" is open. */

import { type Meta, readTerms } from '../figures/margin-terms.ts';
import { ask } from '../service/service.ts';
import { Watch } from '../service/watch.ts';
import type { LiveData } from './live-data.ts';

/** Tiers rarely change, and "What if" notices tiers that are no longer right. */
const POLL_MS = 60_000;

export class TermsWatch {
  readonly #watch: Watch;

  constructor(live: LiveData) {
    this.#watch = new Watch({
      pollMs: POLL_MS,
      ask: (question) => ask(live.view.key, question),
      answered: ({ value }) => live.setTerms(readTerms(value as readonly Meta[])),
      refused: (refusal) => live.setTermsRefusal(refusal),
    });
  }

  setWanted(isWanted: boolean): void {
    if (isWanted === (this.#watch.question !== undefined)) return;
    this.#watch.change(isWanted ? { type: 'allPerpMetas' } : undefined);
  }
}
