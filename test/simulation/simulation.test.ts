/** Seeds of the simulator of faults, and the simulator itself. */

import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { Random } from '../../src/simulator/random.ts';
import { BROKEN_VARIANTS, breakCode } from '../../tools/fault-simulator/broken-variants.ts';
import { KEPT_SEEDS } from '../../tools/fault-simulator/kept-seeds.ts';
import { Report } from '../../tools/fault-simulator/report.ts';
import { runSeed } from '../../tools/fault-simulator/run-seed.ts';
import { tryVariant } from '../../tools/fault-simulator/try-variant.ts';
import {
  DISK_FAULT_KINDS,
  drawDiskFaults,
  drawFaults,
  FAULT_KINDS,
} from '../../tools/fault-simulator/world/faults.ts';
import { PROJECT } from '../../tools/harness/paths.ts';
import { SEED, SEED_NOTE } from '../../tools/harness/seed.ts';
import { ALSO_LONG, LONG_ONLY, scale } from '../scale.ts';

const FIXED_SEEDS = scale(2, 30, 1_000);
const NEW_SEEDS = scale(2, 30, 1_000);
/** Those that few seeds notice; `npm run simulate-variants` tries all. */
const VARIANTS = ['acknowledge before the sync', 'keep an old answer at a new height'];
const VARIANT_SEEDS = 200;

async function runSeeds(report: Report, seeds: readonly string[]): Promise<void> {
  for (const seed of seeds) {
    const result = await runSeed(seed);
    report.add(result);
    assert.equal(result.violation, undefined, report.describeViolation(result));
  }
}

test(
  `${FIXED_SEEDS} fixed seeds and ${NEW_SEEDS} new ones keep every promise ${SEED_NOTE}`,
  ALSO_LONG,
  async (context) => {
    const report = new Report();
    const fixed = Array.from({ length: FIXED_SEEDS }, (_, index) => `venue/fixed/${index}`);
    const drawn = Array.from({ length: NEW_SEEDS }, (_, index) => `venue/${SEED}/${index}`);
    const damaged = Array.from({ length: NEW_SEEDS / 2 }, (_, index) => `disk/${SEED}/${index}`);
    await runSeeds(report, [...fixed, ...drawn, ...damaged]);
    context.diagnostic(report.describe(0));
  },
);

test('seeds that once found something find nothing any more', async () => {
  await runSeeds(
    new Report(),
    KEPT_SEEDS.map(({ seed }) => seed),
  );
});

test('a seed gives the same run to the byte', async () => {
  const first = await runSeed('venue/same');
  const second = await runSeed('venue/same');
  const other = await runSeed('venue/other');
  assert.equal(second.traceHash, first.traceHash);
  assert.notEqual(other.traceHash, first.traceHash);
});

test('every kind of fault is drawn', () => {
  const kinds = Array.from({ length: 300 }, (_, index) => {
    const random = new Random(`${index}`);
    return [...drawFaults(random, 0, 1), ...drawDiskFaults(random, 0, 1)].map(({ kind }) => kind);
  });
  const expected = new Set([...FAULT_KINDS, ...DISK_FAULT_KINDS]);
  assert.deepEqual(new Set(kinds.flat()), expected);
});

const SOURCES = path.join(PROJECT, 'build/src');
const compiled = readdirSync(SOURCES, { recursive: true, encoding: 'utf8' });

for (const variant of BROKEN_VARIANTS) {
  test(`the code to break is there: ${variant.name}`, () => {
    const files = compiled.filter((name) => `/${name}`.endsWith(`/${variant.file}.js`));
    assert.equal(files.length, 1, `${variant.file} is ${files}`);
    const code = readFileSync(path.join(SOURCES, files[0]), 'utf8');
    assert.notEqual(breakCode(code, variant), code);
  });
}

test('code to break is found in any layout, and only once', () => {
  const variant = { name: 'a', file: 'b', find: 'if (c) d();', replacement: 'd();' };
  assert.equal(breakCode('x; if (c)\n    d(); y', variant), 'x; d(); y');
  assert.throws(() => breakCode('if (c) d(); if (c) d();', variant), /found 2 times in b/);
  assert.throws(() => breakCode('if (cc) d();', variant), /found 0 times in b/);
});

for (const name of VARIANTS) {
  test(`a broken variant is noticed: ${name} ${SEED_NOTE}`, LONG_ONLY, async (context) => {
    const { seeds, told } = await tryVariant(name, VARIANT_SEEDS);
    assert.ok(seeds !== undefined, `not noticed in ${VARIANT_SEEDS} seeds`);
    context.diagnostic(`seed ${seeds}: ${told}`);
  });
}
