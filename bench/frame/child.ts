/** Starts processes for a part of a benchmark's code, and exchanges messages with them. */

import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';

/** Starts a script. Typed arrays in messages arrive as typed arrays. */
export function forkScript(script: string, execArgv: readonly string[] = []): ChildProcess {
  return fork(script, ['child'], { serialization: 'advanced', execArgv: [...execArgv] });
}

/** Returns true if this process was started for the script by `forkScript`. */
export function isForked(script: string): boolean {
  return process.argv[1] === script && process.argv[2] === 'child';
}

/** Returns the next message of the process; rejects if the process ends first. */
export async function receive<T>(child: ChildProcess): Promise<T> {
  const done = new AbortController();
  const { signal } = done;
  const ended = once(child, 'exit', { signal }).then(([code]) => {
    throw new Error(`${child.spawnargs[1]} ended with ${code}`);
  });
  try {
    const [message] = await Promise.race([once(child, 'message', { signal }), ended]);
    return message as T;
  } finally {
    done.abort();
    ended.catch(() => undefined);
  }
}

export async function ask<T>(child: ChildProcess, question: object): Promise<T> {
  const answer = receive<T>(child);
  child.send(question);
  return answer;
}

export async function stopChild(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exited = once(child, 'exit');
  child.kill('SIGTERM');
  await exited;
}
