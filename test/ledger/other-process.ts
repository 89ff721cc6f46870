/** Starts a second process on a ledger (ledger-user.ts), and reads what it says line by line. */

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { createInterface } from 'node:readline';

const PROGRAM = path.join(import.meta.dirname, 'ledger-user.js');

export interface OtherProcess {
  readonly pid: number | undefined;
  /** The next line that it prints; fails where it ends without one. */
  nextLine(): Promise<string>;
  /** Sends the signal and waits until the process is gone. */
  kill(signal: NodeJS.Signals): Promise<void>;
  /** The signal that ended it, once it is gone. */
  endedBy(): Promise<NodeJS.Signals | null>;
}

interface Cleanup {
  after(clean: () => Promise<void>): void;
}

export async function startOther(context: Cleanup, ...args: string[]): Promise<OtherProcess> {
  const child = spawn(process.execPath, [PROGRAM, ...args], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  context.after(() => kill(child, 'SIGKILL'));
  const lines = createInterface(child.stdout)[Symbol.asyncIterator]();
  return {
    pid: child.pid,
    kill: (signal) => kill(child, signal),
    async endedBy() {
      if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
      return child.signalCode;
    },
    async nextLine() {
      const { value, done } = await lines.next();
      if (done) throw new Error(`the process ${args.join(' ')} ended without another line`);
      return value;
    },
  };
}

async function kill(child: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exited = once(child, 'exit');
  child.kill(signal);
  await exited;
}
