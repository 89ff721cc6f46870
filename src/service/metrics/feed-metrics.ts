/** How often the service's feed waited for room on the disk of its ledger. */

import { Counter, type Registry } from 'prom-client';
import type { FeedFailures } from '../feed-failures.ts';

export function addFeedMetrics(registry: Registry, failures: FeedFailures): void {
  const retries = new Counter({
    name: 'perpinfo_feed_retries_total',
    help: 'Appends of the feed that failed because the disk is full, and are tried again.',
    registers: [registry],
  });
  failures.listen(({ isRetried }) => {
    if (isRetried) retries.inc();
  });
}
