/** Whether questions can be answered now: from which state, or why not. */

import type { Settings } from '../config/settings.ts';
import { RequestError } from '../info/request-error.ts';
import type { LiveState } from '../replica/live-state.ts';
import type { StateView } from '../state/state.ts';
import type { Load } from './counters.ts';
import { MIN_HEIGHT_HEADER } from './request-head.ts';

export interface ReadinessParts {
  readonly live: LiveState;
  readonly load: Load;
  readonly settings: Settings<'refuseStale' | 'overloadDelay'>;
}

export class Readiness {
  readonly #parts: ReadinessParts;

  constructor(parts: ReadinessParts) {
    this.#parts = parts;
  }

  /** The state to answer from, or why there is none: not ready, below the minimum height, stale. */
  findState(minHeight = 0): StateView | RequestError {
    const { live, settings } = this.#parts;
    const { state } = live;
    if (state === undefined) return new RequestError('not_ready', live.unavailableReason);
    if (state.height < minHeight) {
      const message = `${MIN_HEIGHT_HEADER}: got ${minHeight}, the ledger is at height ${state.height}`;
      return new RequestError('behind', message, MIN_HEIGHT_HEADER);
    }
    const stale = settings.refuseStale ? live.findStaleness(Date.now()) : undefined;
    return stale === undefined ? state : new RequestError('behind', stale.message);
  }

  findOverload(): RequestError | undefined {
    const { settings, load } = this.#parts;
    if (!load.isOverloaded) return undefined;
    const delay = Math.round(load.delayMs);
    const message = `requests wait ${delay} ms here, more than ${settings.overloadDelay} ms`;
    return new RequestError('overloaded', message);
  }
}
