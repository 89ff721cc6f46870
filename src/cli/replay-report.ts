/** Prints progress and warnings while a command replays a ledger. */

import type { ReplicaOptions } from '../replica/replica.ts';
import type { Terminal } from './terminal.ts';

interface ReportOptions {
  readonly terminal: Terminal;
  readonly signal: AbortSignal;
}

/**
 * Returns callbacks for a replay. `progress` throws when the signal aborts, which ends the replay.
 */
export function reportReplay({
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

interface StepReport {
  warn(message: string): void;
  /** Throws when the signal aborts. */
  progress(step: string, height: number, share: number): void;
}

/** Prints progress and warnings of a command with several steps. Each step runs up to the last height. */
export function reportSteps({ terminal, signal }: ReportOptions): StepReport {
  return {
    warn: (message) => terminal.say(`warning: ${message}`),
    progress: (step, height, share) => {
      signal.throwIfAborted();
      terminal.progress(() => `${step}: height ${height} (${Math.floor(share * 100)} %)`);
    },
  };
}
