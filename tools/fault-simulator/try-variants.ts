/**
 * Runs the fault simulator on every broken variant of the code. Prints a table with the number of
 * seeds that each variant took until it was noticed:
 *
 *   npm run simulate-variants -- [--seeds 1000] [--only TEXT]
 */

import { parseArgs } from 'node:util';
import { BROKEN_VARIANTS } from './broken-variants.ts';
import { tryVariant } from './try-variant.ts';

const TOLD_LENGTH_MAX = 90;

const { values } = parseArgs({
  options: { seeds: { type: 'string', default: '1000' }, only: { type: 'string', default: '' } },
});

for (const { name } of BROKEN_VARIANTS.filter((each) => each.name.includes(values.only))) {
  const { seeds, told } = await tryVariant(name, Number(values.seeds));
  if (seeds === undefined) process.exitCode = 1;
  const noticed = seeds === undefined ? '**not noticed**' : told.slice(0, TOLD_LENGTH_MAX);
  process.stdout.write(`| ${name} | ${seeds ?? '-'} | ${noticed} |\n`);
}
