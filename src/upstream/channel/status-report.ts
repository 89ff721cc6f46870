/** The follower's last report. A report is stale after five seconds. */

import { readStatus } from './channel-messages.ts';
import type { FollowStatus } from './follower-client.ts';

/** The time after which a report is stale. The follower reports once a second. */
const RECENT_MS = 5_000;

export class StatusReport {
  #status: FollowStatus | undefined;
  #takenMs = 0;

  /** Ignores a message that is not a report. */
  take(message: unknown): void {
    const status = readStatus(message);
    if (status === undefined) return;
    this.#status = status;
    this.#takenMs = performance.now();
  }

  read(): FollowStatus | undefined {
    return performance.now() - this.#takenMs <= RECENT_MS ? this.#status : undefined;
  }
}
