/** Appends to a ledger whose disk may be full: the blocks wait in memory until there is room. */

import { setTimeout as sleep } from 'node:timers/promises';
import { LedgerError, type LedgerWriter } from '../ledger/ledger.ts';
import { type BackoffTerms, backoffMs } from '../timing/backoff.ts';

/** Looking for room costs one system call, and the service is stale until there is room. */
const RETRY: BackoffTerms = { firstMs: 1_000, maxMs: 30_000 };

export interface AppendRetries {
  readonly ledger: Pick<LedgerWriter, 'append'>;
  /** Ends the wait: the append then fails with its last error. */
  readonly signal: AbortSignal;
  /** Called after each attempt that failed and is repeated, with the height of the last stored block. */
  failed(error: LedgerError, height: number): void;
  /** Called when blocks are stored again. */
  recovered(): void;
  /** For tests, which have no seconds to wait. */
  readonly terms?: BackoffTerms | undefined;
}

/**
 * Returns an append that is repeated while the ledger refuses it before any block is written. After other
 * failures LMDB's state is unknown, so these are thrown.
 */
export function retryAppends({
  terms = RETRY,
  ...options
}: AppendRetries): Pick<LedgerWriter, 'append'> {
  const { ledger, signal, failed, recovered } = options;
  return {
    async append(blocks) {
      let rest = blocks;
      // Blocks that have gathered for a while may need more room than there is: fewer are tried each time.
      let count = blocks.length;
      let failures = 0;
      while (rest.length > 0) {
        try {
          await ledger.append(rest.slice(0, count));
          rest = rest.slice(count);
          if (failures > 0) recovered();
          failures = 0;
        } catch (error) {
          if (!(error instanceof LedgerError && error.isRepeatable) || signal.aborted) throw error;
          failures++;
          count = Math.ceil(count / 2);
          failed(error, rest[0].height - 1);
          // An abort ends the wait; the next attempt is then the last.
          await sleep(backoffMs(failures, terms), undefined, { signal }).catch(() => undefined);
        }
      }
    },
  };
}
