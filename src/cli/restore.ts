/** How a command shows that a replica is being restored, and gives up when it is told to stop. */

import type { ReplicaOptions } from '../replica/replica.ts';
import type { Terminal } from './terminal.ts';

interface Restorer {
  readonly terminal: Terminal;
  readonly signal: AbortSignal;
}

export function reportRestore({
  terminal,
  signal,
}: Restorer): Required<Pick<ReplicaOptions, 'warn' | 'progress'>> {
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
