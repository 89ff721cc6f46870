/** How a command shows that a replica is being restored. */

import type { ReplicaOptions } from '../replica.ts';
import type { Terminal } from './terminal.ts';

export function reportRestore(
  terminal: Terminal,
): Required<Pick<ReplicaOptions, 'warn' | 'progress'>> {
  return {
    warn: (message) => terminal.say(`warning: ${message}`),
    progress: (height, target) => {
      terminal.progress(() => {
        const percent = Math.floor((height / target) * 100);
        return `replaying the ledger: height ${height} of ${target} (${percent} %)`;
      });
    },
  };
}
