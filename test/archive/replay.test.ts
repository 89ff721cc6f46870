/**
 * An archive is compared with a naive replay of all blocks, on ledgers of random events with blocks of
 * time 0, pauses, many transfers in a block, prunes, archivers that pause, and gaps.
 */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { readArchivedHeight } from '../../src/archive/records/archived-height.ts';
import type { HistoryView } from '../../src/info/archive/history-view.ts';
import type { ArchiveQuestion } from '../../src/info/question.ts';
import { readQuestion } from '../../src/info/read-question.ts';
import { RequestError } from '../../src/info/request-error.ts';
import { openEmbeddedLedgerWriter } from '../../src/ledger/embedded/embedded-writer.ts';
import type { Ledger } from '../../src/ledger/ledger.ts';
import { pruneLedger } from '../../src/replica/retention.ts';
import { SnapshotFolder } from '../../src/replica/snapshot-folder.ts';
import { Random } from '../../src/simulator/random.ts';
import { createState } from '../../src/state/state.ts';
import { appendAll } from '../../tools/harness/data-directory.ts';
import { createPlaces } from '../../tools/harness/program.ts';
import { runs, SEED, SEED_NOTE } from '../../tools/harness/seed.ts';
import type { WireEvent } from '../../tools/naive-twin/naive-block.ts';
import {
  type BlockSteps,
  blockAfter,
  FIRST_BLOCK,
  randomBlock,
  USERS,
} from '../../tools/naive-twin/random-events.ts';
import { ALSO_LONG, scale } from '../scale.ts';
import { tryApply } from '../twin/try-apply.ts';
import { archiveOnce, withArchive } from './archived.ts';
import { type Asked, NaivePast, NaiveRefused } from './naive-past.ts';
import { listBodies, Witness } from './witness.ts';

const LEDGERS = scale(4, 12, 100);
const BLOCKS_MAX = 60;
const SERIES = 100;
const QUESTIONS_PER_BLOCK = 6;
const TRANSFERS = 150;
const STRANGER = `0x${'f'.repeat(40)}`;
const MINUTE_MS = 60_000;
const place = createPlaces();

const bodies = listBodies({
  user: [...USERS, STRANGER],
  users: [[...USERS], [STRANGER, 'no address']],
  dex: ['', 'xyz', 'abc'],
  id: [3, 20, 1001],
});

/** The lines of a ledger: some begin with blocks of time 0, some blocks have very many transfers. */
function drawLines(random: Random, sequence: readonly BlockSteps[], witness: Witness): string[] {
  const state = createState();
  const start = FIRST_BLOCK.time;
  const zeros = random.pick([0, 0, 1, 1 + random.below(20)]);
  const lines: string[] = [];
  const add = (block: object, height: number) => {
    const time = height <= zeros ? 0 : undefined;
    const line = JSON.stringify(time === undefined ? block : { ...block, time });
    if (!tryApply(state, line)) return;
    lines.push(line);
    witness.look(state);
  };
  add(FIRST_BLOCK, 1);
  for (const drawn of sequence) {
    const isLate = state.time === 0 && state.height >= zeros;
    const timeStep = isLate ? start : random.pick([drawn.timeStep, drawn.timeStep, 0, 1]);
    const isBusy = random.below(20) === 0;
    const events = isBusy ? [...drawn.events, ...drawTransfers(random)] : drawn.events;
    add(blockAfter(state, { ...drawn, timeStep, events }), state.height + 1);
  }
  return lines;
}

function drawTransfers(random: Random): WireEvent[] {
  return Array.from({ length: 1 + random.below(TRANSFERS) }, () => ({
    type: 'transfer',
    user: random.pick(USERS),
    dex: random.pick(['', 'xyz']),
    amount: `${random.below(100)}.${random.below(10)}`,
  }));
}

/** Appends the lines bit by bit; between them the ledger is pruned and archived, or is not. */
async function keepLedger(random: Random, lines: readonly string[], data: string, past: NaivePast) {
  let end = 0;
  while (end < lines.length) {
    const from = end;
    end = Math.min(lines.length, end + 1 + random.below(12));
    const policy = { snapshotEvery: random.pick([1, 3, 10]), snapshotKeep: random.pick([1, 1, 3]) };
    await appendAll(data, lines.slice(from, end), policy);
    if (random.below(2) === 0) await prune(random, data);
    if (end === lines.length || random.below(2) === 0) await archive(random, data, end, past);
    if (random.below(4) === 0) await prune(random, data);
  }
}

/** A ledger in another folder does not know of the archive. */
async function prune(random: Random, data: string): Promise<void> {
  const ledger = await openEmbeddedLedgerWriter(data);
  const snapshots = new SnapshotFolder(data);
  const isCareful = random.below(2) === 0;
  const archivedHeight = isCareful
    ? (ledger: Ledger) => readArchivedHeight(data, ledger)
    : undefined;
  const retention = { keepBlocks: random.pick([0, 0, 1, 5, 20]), keepDays: undefined };
  try {
    if (snapshots.heights().length > 0) {
      await pruneLedger({ ledger, snapshots, retention, archivedHeight });
    }
  } finally {
    await ledger.close();
  }
}

async function archive(random: Random, data: string, end: number, past: NaivePast): Promise<void> {
  const ledger = await openEmbeddedLedgerWriter(data);
  const { height: base } = await ledger.base();
  await ledger.close();
  const oldest = new SnapshotFolder(data).heights().find((height) => height >= base);
  const days = random.pick([undefined, undefined, undefined, 1 + random.below(5)]);
  await archiveOnce(data, { days });
  past.archive(end, base, oldest, days);
}

/** The answer, or the text of the refusal. */
function answerOf(history: HistoryView, asked: object): string {
  try {
    const question = readQuestion(asked) as ArchiveQuestion | RequestError;
    if (question instanceof RequestError) throw question;
    const { height, time } = { height: Number.MAX_SAFE_INTEGER, time: 0 };
    question.findHeight(history, { height: Math.min(height, history.range().last), time });
    const steps = question.answer(history);
    for (;;) {
      const step = steps.next();
      if (step.done === true) return String(step.value.body);
    }
  } catch (error) {
    if (error instanceof RequestError) return error.toJson();
    throw error;
  }
}

function expectedOf(past: NaivePast, asked: Asked): string | NaiveRefused {
  try {
    return past.answer(asked);
  } catch (error) {
    if (error instanceof NaiveRefused) return error;
    throw error;
  }
}

/** An answer is equal byte for byte. A refusal has the same code, the same reason, and the field that it names. */
function assertAnswer(answer: string, expected: string | NaiveRefused, note: string): void {
  if (!(expected instanceof NaiveRefused)) {
    assert.equal(answer, expected, note);
    return;
  }
  const { code, message, field } = JSON.parse(answer);
  const { length } = expected.message;
  assert.deepEqual([code, message?.slice(0, length)], [expected.code, expected.message], note);
  assert.equal(field, /^\w+/.exec(message)?.[0], note);
}

function unheld(moment: 'atHeight' | 'atTime', got: number): NaiveRefused {
  const message = `${moment}: got ${got}, expected what the archive holds: heights `;
  return new NaiveRefused('unknown_height', message);
}

/** What was not ready then is not known of the past either, and is refused for good. */
function expectedAt(
  answer: string,
  moment: 'atHeight' | 'atTime',
  got: number,
): string | NaiveRefused {
  if (JSON.parse(answer)?.error !== 'not_ready') return answer;
  return new NaiveRefused('unknown_height', `${moment}: got ${got}, ${EXPECTED_MOMENT}`);
}

const EXPECTED_MOMENT = 'expected a moment at which the ledger had the answer: this ledger ';
const UNKNOWN_NOW = / does not hold (.*?): it is partial, and no event has named it$/;

/** Among many accounts, too, the reason of one that was unknown then is that of the past. */
function assertMoment(
  answer: string,
  expected: string | NaiveRefused,
  height: number,
  note: string,
): void {
  const failed = typeof expected === 'string' ? JSON.parse(expected)?.failed_wallets : undefined;
  if (failed === undefined) {
    assertAnswer(answer, expected, note);
    return;
  }
  const given = JSON.parse(answer);
  for (const [index, [, reason]] of failed.entries()) {
    const what = UNKNOWN_NOW.exec(reason)?.[1];
    if (what === undefined) continue;
    const reasonThen = given.failed_wallets[index][1];
    assert.match(reasonThen, /^at(Height|Time): got \d+, /, note);
    const [, since] = /from height (\d+) on, time \d+$/.exec(reasonThen) ?? [];
    const known =
      since === undefined
        ? `did not know ${what} at height ${height}`
        : `knows ${what} from height `;
    assert.ok(reasonThen.includes(`${EXPECTED_MOMENT}${known}`), `${note}: ${reasonThen}`);
    assert.ok(since === undefined || Number(since) > height, note);
    given.failed_wallets[index][1] = reason;
  }
  assert.equal(JSON.stringify(given), expected, note);
}

function drawTime(random: Random, past: NaivePast): number {
  const time = past.timeOf(1 + random.below(past.head));
  const offset = random.pick([0, 0, 1, -1, MINUTE_MS, 1_000, -MINUTE_MS]);
  return Math.max(0, random.below(12) === 0 ? random.below(3) : time + offset);
}

function drawSeries(random: Random, past: NaivePast): Asked {
  const type = random.pick([
    ...['accountHistory', 'accountHistory', 'positionHistory', 'liquidationHistory'],
    'portfolio',
  ]);
  const maybe = <T>(draw: () => T) => (random.below(2) === 0 ? draw() : undefined);
  const [a, b] = [drawTime(random, past), drawTime(random, past)];
  const range = { from: maybe(() => Math.min(a, b)), to: maybe(() => Math.max(a, b)) };
  const moment = random.pick([
    ...[{}, {}, {}, {}, { atHeight: 1 + random.below(past.head + 1) }],
    { atTime: drawTime(random, past) },
  ]);
  const step = () => random.pick([1_000, MINUTE_MS, 3_600_000, 86_400_000, 7 * 86_400_000]);
  const asked = {
    ...{ type, user: random.pick([...USERS, STRANGER]), ...moment },
    ...(type !== 'portfolio' && { ...range, format: random.pick(['json', 'csv']) }),
    ...(type === 'accountHistory' && { step: maybe(step) }),
    ...(type === 'positionHistory'
      ? { coin: random.pick(['BTC', 'DOGE', 'xyz:GOLD', 'xyz:BTC', 'NEW1']) }
      : type !== 'portfolio' && { dex: random.pick(['', '', 'xyz', 'abc']) }),
  };
  return JSON.parse(JSON.stringify(asked));
}

/** Answers at heights and times, as they were given then; returns how many were compared. */
function compareMoments(random: Random, history: HistoryView, past: NaivePast, witness: Witness) {
  for (const { height, body, answer } of witness.noted) {
    if (height > past.head) continue;
    const next = past.states[height + 1]?.time ?? past.timeOf(height) + 1;
    const time = past.timeOf(height) + random.below(Math.min(next - past.timeOf(height), 1e6));
    const isLast = next > past.timeOf(height) && height <= past.head;
    const note = `${JSON.stringify(body)} at ${time}, height ${height}`;
    const expected = past.holds(height)
      ? expectedAt(answer, 'atHeight', height)
      : unheld('atHeight', height);
    assertMoment(answerOf(history, { ...body, atHeight: height }), expected, height, note);
    if (!isLast) continue;
    const isKnown = past.heightAt(time) === height;
    const expectedThen = isKnown ? expectedAt(answer, 'atTime', time) : unheld('atTime', time);
    assertMoment(answerOf(history, { ...body, atTime: time }), expectedThen, height, note);
  }
  return witness.count;
}

test(`an archive answers as a naive replay does ${SEED_NOTE}`, ALSO_LONG, async (context) => {
  let [series, moments, refused, gaps] = [0, 0, 0, 0];
  const sequences = fc.array(randomBlock, { minLength: 30, maxLength: BLOCKS_MAX, size: 'max' });
  for (const [index, sequence] of fc.sample(sequences, runs(LEDGERS)).entries()) {
    const seed = `replay ${SEED} ${index}`;
    const random = new Random(seed);
    const witness = new Witness(seed, bodies, QUESTIONS_PER_BLOCK);
    const lines = drawLines(random, sequence, witness);
    const past = new NaivePast(lines);
    const data = place();
    await keepLedger(random, lines, data, past);
    await withArchive(data, (history, { range }) => {
      gaps += range.gaps.length;
      moments += compareMoments(random, history, past, witness);
      for (let count = 0; count < SERIES; count++) {
        const asked = drawSeries(random, past);
        const expected = expectedOf(past, asked);
        const note = `${seed}: ${JSON.stringify(asked)} of ${history.range().text}`;
        assertAnswer(answerOf(history, asked), expected, note);
        if (expected instanceof NaiveRefused) refused++;
        series++;
      }
    });
  }
  context.diagnostic(
    `${series} series, ${refused} of them refused, ${moments} moments, ${gaps} gaps`,
  );
});
