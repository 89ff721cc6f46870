/** Progress and warnings of a command that restores a replica. */

import type { ReplicaOptions } from '../replica/replica.ts';
import type { Terminal } from './terminal.ts';

interface ReportOptions {
  readonly terminal: Terminal;
  readonly signal: AbortSignal;
}

/** `progress` throws when the signal aborts, which ends the restore. */
export function reportRestore({
  terminal,
  signal,
}: ReportOptions): Required<Pick<ReplicaOptions, 'warn' | 'progress'>> {
  return {
    warn: (message) => terminal.say(`warning: ${message}`),
    progress: (height, target) => {
      signal.throwIfAborted();
      terminal.progress(() => {
        const percent = Math.floor((height / target) * 100);
        return `replaying the ledger: height ${height} of ${target} (${percent} %)`;
      });
    },
  };
}
