/** Runs the fault simulator on a broken variant of the code, in a separate process. */

import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import type { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { BROKEN_VARIANTS } from './broken-variants.ts';

const HERE = import.meta.dirname;

export interface VariantOutcome {
  /** The number of seeds until one noticed the variant; undefined if no seed noticed it. */
  readonly seeds: number | undefined;
  /** The violation that was noticed. */
  readonly told: string;
}

/**
 * The maximum time without output. Progress is printed every few seconds, and a run takes less than
 * a second.
 */
const STALL_MS = 60_000;

/** Ends the process if it prints nothing for a long time, because broken code may run forever. */
function watchForStall(child: ChildProcessByStdio<null, Readable, Readable>) {
  const watched = { hasStalled: false };
  const stop = () => {
    watched.hasStalled = true;
    child.kill('SIGKILL');
  };
  const timer = setTimeout(stop, STALL_MS);
  child.stderr.on('data', () => timer.refresh());
  child.on('close', () => clearTimeout(timer));
  return watched;
}

export async function tryVariant(name: string, seedsMax: number): Promise<VariantOutcome> {
  const program = path.join(HERE, 'simulate-faults.js');
  const loader = path.join(HERE, 'variant-loader.js');
  const variant = BROKEN_VARIANTS.find((each) => each.name === name);
  const flags = ['--seeds', `${seedsMax}`, '--world', variant?.world ?? 'venue'];
  const child = spawn(process.execPath, ['--import', loader, program, ...flags], {
    env: { ...process.env, PERPTEST_VARIANT: name },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const ended = once(child, 'close');
  const stall = watchForStall(child);
  const [output, errors] = await Promise.all([text(child.stdout), text(child.stderr)]);
  await ended;
  if (stall.hasStalled) {
    const done = [...errors.matchAll(/^(\d+) seeds/gm)].at(-1)?.[1] ?? 0;
    return { seeds: Number(done) + 1, told: 'a run does not end' };
  }
  const [, told] = /^violation: (.*)$/m.exec(output) ?? [];
  const [, index] = /--seed \S+\/(\d+)$/m.exec(output) ?? [];
  if (told !== undefined) return { seeds: Number(index) + 1, told };
  if (!output.includes('no violation')) throw new Error(`${name}: ${errors}`);
  return { seeds: undefined, told: '' };
}
