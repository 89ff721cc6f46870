/** Runs the simulator of faults on a broken variant of the code, in a process of its own. */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { BROKEN_VARIANTS } from './broken-variants.ts';

const HERE = import.meta.dirname;

export interface VariantOutcome {
  /** How many seeds it took to notice it; undefined if none did. */
  readonly seeds: number | undefined;
  /** What was noticed. */
  readonly told: string;
}

export async function tryVariant(name: string, seedsMax: number): Promise<VariantOutcome> {
  const program = path.join(HERE, 'simulate-faults.js');
  const loader = path.join(HERE, 'variant-loader.js');
  const variant = BROKEN_VARIANTS.find((each) => each.name === name);
  const flags = ['--seeds', `${seedsMax}`, '--world', variant?.world ?? 'venue'];
  const child = spawn(process.execPath, ['--import', loader, program, ...flags], {
    env: { ...process.env, PERPINFO_BROKEN_VARIANT: name },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const ended = once(child, 'close');
  const [output, errors] = await Promise.all([text(child.stdout), text(child.stderr)]);
  await ended;
  const [, told] = /^violation: (.*)$/m.exec(output) ?? [];
  const [, index] = /--seed \S+\/(\d+)$/m.exec(output) ?? [];
  if (told !== undefined) return { seeds: Number(index) + 1, told };
  if (!output.includes('no violation')) throw new Error(`${name}: ${errors}`);
  return { seeds: undefined, told: '' };
}
