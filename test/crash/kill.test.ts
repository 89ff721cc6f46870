/**
 * A writer that is killed at any moment: every acknowledged block is there, the ledger is sound, and
 * continuing from its next block gives the ledger of an undisturbed run.
 */

import assert from 'node:assert/strict';
import { existsSync, readdirSync, rmSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { Random } from '../../src/simulator/random.ts';
import {
  createPlaces,
  joinLines,
  type Program,
  readVerification,
  run,
  start,
  succeed,
} from '../../tools/harness/program.ts';
import { SEED, SEED_NOTE } from '../../tools/harness/seed.ts';
import { simulateLines } from '../../tools/harness/simulated-lines.ts';
import { ALSO_LONG, scale } from '../scale.ts';

const KILLS_MAX = 50;
const KILLS = scale(1, 3, KILLS_MAX);
/** Kills that must have come between the first and the last block. */
const MIDDLE_MIN = KILLS / 20;
/** Frequent, so that many kills come during a snapshot or a prune. */
const SETTINGS = ['--snapshot-every', '3', '--snapshot-keep', '4', '--keep-blocks', '5'];

const place = createPlaces();
const lines = simulateLines(200, 'kill');

/** Starts to append the lines after a height. */
function startAppend(data: string, height: number): Program {
  const program = start(['append', '--data', data, ...SETTINGS]);
  program.child.stdin.end(joinLines(lines.slice(height)));
  return program;
}

async function verify(data: string) {
  const outcome = await succeed(['verify', '--data', data]);
  return readVerification(outcome);
}

async function measureUndisturbed() {
  const data = place();
  const startedMs = performance.now();
  const { code, stderr } = await startAppend(data, 0).ended;
  const lengthMs = performance.now() - startedMs;
  assert.equal(code, 0, stderr);
  return { lengthMs, expected: await verify(data) };
}

/** The verified height; 0 if the writer was killed before it had created the ledger. */
async function readHeight(data: string): Promise<number> {
  const outcome = await run(['verify', '--data', data]);
  if (outcome.stderr.startsWith(`perpinfo: there is no ledger in ${data}`)) return 0;
  assert.equal(outcome.code, 0, outcome.stderr);
  return readVerification(outcome).height;
}

function hasDraft(data: string): boolean {
  const folder = path.join(data, 'snapshots');
  return existsSync(folder) && readdirSync(folder).some((name) => name.endsWith('.draft'));
}

/** Duration of an undisturbed run, lowered when a run was faster: later kills would miss it. */
interface Pace {
  runMs: number;
}

/** One ledger whose writer is killed until the ledger is complete or the kills are used up. */
class Ordeal {
  readonly #data = place();
  readonly #random: Random;
  readonly #pace: Pace;
  #height = 0;
  kills = 0;
  killsInTheMiddle = 0;
  killsWithinSnapshot = 0;

  constructor(random: Random, pace: Pace) {
    this.#random = random;
    this.#pace = pace;
  }

  async run(killsMax: number): Promise<void> {
    while (this.#height < lines.length && this.kills < killsMax) await this.#killOnce();
  }

  async #killOnce(): Promise<void> {
    const program = startAppend(this.#data, this.#height);
    const startedMs = performance.now();
    await Promise.race([sleep(this.#random.between(0, this.#pace.runMs)), program.ended]);
    program.child.kill('SIGKILL');
    const { code, signal, stderr } = await program.ended;
    assert.ok(code === 0 || signal === 'SIGKILL', stderr);
    if (signal === 'SIGKILL') this.kills++;
    else this.#pace.runMs = Math.min(this.#pace.runMs, performance.now() - startedMs);
    if (hasDraft(this.#data)) this.killsWithinSnapshot++;
    const height = await readHeight(this.#data);
    assert.ok(height >= program.acknowledged, `${height}, ${program.acknowledged} acknowledged`);
    assert.ok(height >= this.#height, `${height} after ${this.#height}`);
    if (height > this.#height && height < lines.length) this.killsInTheMiddle++;
    this.#height = height;
  }

  async finish(): Promise<Awaited<ReturnType<typeof verify>>> {
    if (this.#height < lines.length) {
      const { code, stderr } = await startAppend(this.#data, this.#height).ended;
      assert.equal(code, 0, stderr);
    }
    const result = await verify(this.#data);
    rmSync(this.#data, { recursive: true });
    return result;
  }
}

test(
  `append survives ${KILLS} kills at random moments ${SEED_NOTE}`,
  ALSO_LONG,
  async (context) => {
    const random = new Random(String(SEED));
    const { lengthMs, expected } = await measureUndisturbed();
    const pace = { runMs: lengthMs };
    assert.equal(expected.height, lines.length);
    const total = { kills: 0, inTheMiddle: 0, withinSnapshot: 0, ledgers: 0 };
    const isEnough = () => total.kills >= KILLS && total.inTheMiddle > MIDDLE_MIN;
    while (total.kills < KILLS_MAX && !isEnough()) {
      const ordeal = new Ordeal(random, pace);
      await ordeal.run(Math.max(1, KILLS - total.kills));
      assert.deepEqual(await ordeal.finish(), expected);
      total.kills += ordeal.kills;
      total.inTheMiddle += ordeal.killsInTheMiddle;
      total.withinSnapshot += ordeal.killsWithinSnapshot;
      total.ledgers++;
    }
    context.diagnostic(
      `${total.kills} kills of ${total.ledgers} ledgers in runs of ${Math.round(lengthMs)} ms: ` +
        `${total.inTheMiddle} in the middle, ${total.withinSnapshot} within a snapshot`,
    );
    assert.ok(total.inTheMiddle > MIDDLE_MIN, `${total.inTheMiddle} in the middle`);
  },
);
