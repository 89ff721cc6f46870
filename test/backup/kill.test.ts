/** Backups and restores that are killed at any moment, and then continued. */

import assert from 'node:assert/strict';
import { existsSync, rmSync } from 'node:fs';
import { before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { Random } from '../../src/simulator/random.ts';
import { appendAll, NO_SNAPSHOTS, verifyDirectory } from '../../tools/harness/data-directory.ts';
import { createPlaces, readVerification, start, succeed } from '../../tools/harness/program.ts';
import { SEED, SEED_NOTE } from '../../tools/harness/seed.ts';
import { simulateLines } from '../../tools/harness/simulated-lines.ts';
import { LONG_ONLY, scale } from '../scale.ts';

const KILLS = scale(2, 2, 40);
const BLOCKS = scale(300, 300, 2000);
/** Runs that may end before their kill comes. */
const RUNS_MAX = 4 * KILLS;

const place = createPlaces();
const [data, whole] = [place(), place('backup')];
let original: Awaited<ReturnType<typeof verifyDirectory>>;
let [backupMs, restoreMs] = [0, 0];

async function measure(args: string[]): Promise<number> {
  const startedMs = performance.now();
  await succeed(args);
  return performance.now() - startedMs;
}

before(async () => {
  await appendAll(data, simulateLines(BLOCKS, 'kill'), NO_SNAPSHOTS);
  original = await verifyDirectory(data);
  backupMs = await measure(['backup', '--data', data, '--to', whole]);
  restoreMs = await measure(['restore', '--from', whole, '--data', place()]);
});

interface Ordeal {
  readonly args: string[];
  /** How long a run takes that nobody kills. */
  readonly runMs: number;
  /** Called when a run has ended by itself, to begin again from nothing. */
  again(): void;
}

/** Kills runs at random moments, each time continuing, until enough were killed. */
async function killRuns({ args, runMs, again }: Ordeal, random: Random): Promise<number> {
  let kills = 0;
  for (let runs = 0; kills < KILLS && runs < RUNS_MAX; runs++) {
    const program = start(args);
    await Promise.race([sleep(random.between(runMs / 4, runMs)), program.ended]);
    program.child.kill('SIGKILL');
    const { code, signal, stderr } = await program.ended;
    assert.ok(code === 0 || signal === 'SIGKILL', stderr);
    if (signal === 'SIGKILL') kills++;
    else again();
  }
  return kills;
}

for (const kind of ['backup', 'restore'] as const) {
  test(`a ${kind} survives ${KILLS} kills at random moments ${SEED_NOTE}`, LONG_ONLY, async (t) => {
    const [file, target] = [kind === 'backup' ? place('backup') : whole, place()];
    const backUp = ['backup', '--data', data, '--to', file];
    const restore = ['restore', '--from', file, '--data', target];
    const [args, made] = kind === 'backup' ? [backUp, file] : [restore, target];
    const runMs = kind === 'backup' ? backupMs : restoreMs;
    const again = () => rmSync(made, { recursive: true });
    const kills = await killRuns({ args, runMs, again }, new Random(`${SEED} ${kind}`));
    t.diagnostic(`${kills} kills in runs of ${Math.round(runMs)} ms`);
    assert.ok(kills > 0, 'no run was killed');
    assert.deepEqual(readVerification(await succeed(args)), original);
    assert.equal(existsSync(`${file}.part`), false);
    if (kind === 'backup') await measure(restore);
    assert.deepEqual(await verifyDirectory(target), original);
  });
}
