/** Checks whether the replica can answer questions now, and from which state. */

import { RequestError } from '../../info/request-error.ts';
import type { LiveState } from '../../replica/live-state.ts';
import type { StateView } from '../../state/state.ts';
import type { FollowerClient } from '../../upstream/channel/follower-client.ts';
import { MIN_HEIGHT_HEADER } from '../message/request-head.ts';
import type { HttpSettings } from '../settings.ts';
import type { Load } from './counters.ts';

const NOTHING_READ = new RequestError(
  'not_ready',
  'nothing of the followed exchange has been read yet',
);

export interface ReadinessParts {
  readonly live: LiveState;
  readonly load: Load;
  /** The client that has the follower's last report; undefined without a follower. */
  readonly follower?: FollowerClient | undefined;
  readonly settings: Pick<HttpSettings, 'refuseStale' | 'overloadDelay'>;
}

export class Readiness {
  readonly #parts: ReadinessParts;

  constructor(parts: ReadinessParts) {
    this.#parts = parts;
  }

  /**
   * Returns the state to answer from. Returns a refusal if the state is not ready, below the
   * minimum height, stale, or cut off.
   */
  findState(minHeight = 0): StateView | RequestError {
    const { live, follower } = this.#parts;
    const { state } = live;
    if (state === undefined) return new RequestError('not_ready', live.unavailableReason);
    const cutOff = this.#findCutOff();
    if (cutOff !== undefined) return cutOff;
    // Before the follower has written its first block, the ledger looks like an empty exchange.
    if (state.height === 0 && follower?.status() !== undefined) return NOTHING_READ;
    if (state.height < minHeight) {
      const message = `${MIN_HEIGHT_HEADER}: got ${minHeight}, the ledger is at height ${state.height}`;
      return new RequestError('behind', message, MIN_HEIGHT_HEADER);
    }
    return this.#findStaleness() ?? state;
  }

  /**
   * Returns the reason why this replica may lack the newest blocks; returns undefined if the
   * replica has them. Answers about the past that include the newest blocks are refused with this
   * reason.
   */
  findLag(): RequestError | undefined {
    const { live } = this.#parts;
    if (live.state === undefined) return new RequestError('not_ready', live.unavailableReason);
    return this.#findCutOff() ?? this.#findStaleness();
  }

  #findCutOff(): RequestError | undefined {
    const cutOff = this.#parts.live.findCutOff();
    return cutOff && new RequestError('behind', cutOff.message);
  }

  #findStaleness(): RequestError | undefined {
    const { live, settings } = this.#parts;
    const stale = settings.refuseStale ? live.findStaleness(Date.now()) : undefined;
    return stale && new RequestError('behind', stale.message);
  }

  findOverload(): RequestError | undefined {
    const { settings, load } = this.#parts;
    if (!load.isOverloaded) return undefined;
    const delay = Math.round(load.delayMs);
    const message = `requests wait ${delay} ms here, more than ${settings.overloadDelay} ms`;
    return new RequestError('overloaded', message);
  }
}
