/** The margin tiers of all markets, asked for only while something is supposed of marks. */

import { type Meta, readTerms } from '../figures/margin-terms.ts';
import { ask } from '../service/service.ts';
import { Watch } from '../service/watch.ts';
import type { Store } from '../view/store.ts';

/** Tiers rarely change, and what-if notices when they have. */
const POLL_MS = 60_000;

export class TermsWatch {
  readonly #watch: Watch;

  constructor(store: Store) {
    this.#watch = new Watch({
      pollMs: POLL_MS,
      ask: (question) => ask(store.view.key, question),
      answered: ({ value }) =>
        store.set({ terms: readTerms(value as readonly Meta[]), termsRefusal: undefined }),
      refused: (termsRefusal) => store.set({ termsRefusal }),
    });
  }

  setWanted(isWanted: boolean): void {
    if (isWanted === (this.#watch.question !== undefined)) return;
    this.#watch.change(isWanted ? { type: 'allPerpMetas' } : undefined);
  }
}
