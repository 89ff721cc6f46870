import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { parseBlock } from '../../src/events/event.ts';
import { answerQuestion } from '../../src/info/read-question.ts';
import { applyBlock } from '../../src/state/fold.ts';
import { createState } from '../../src/state/state.ts';
import { VECTORS } from '../../tools/harness/paths.ts';

interface Vector {
  name: string;
  block: unknown;
  query: unknown;
  expected: unknown;
}

/** Recorded as noisy doubles, so these two are compared to 1e-9 relative. */
const RATIOS = new Set(['returnOnEquity', 'liquidationPx']);
const RATIO_TOLERANCE = 1e-9;

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null;
}

function isSameRatio(recorded: unknown, ours: unknown): boolean {
  if (typeof recorded !== 'string' || typeof ours !== 'string') return recorded === ours;
  const difference = Math.abs(Number(recorded) - Number(ours));
  return difference <= RATIO_TOLERANCE * Math.abs(Number(recorded));
}

/** Compares the part of the answer that was recorded. */
function compareRecorded(where: string, recorded: unknown, ours: unknown): void {
  if (!isObject(recorded)) {
    const field = where.slice(where.lastIndexOf('.') + 1);
    if (RATIOS.has(field)) assert.ok(isSameRatio(recorded, ours), `${where}: ${recorded}, ${ours}`);
    else assert.equal(ours, recorded, where);
    return;
  }
  assert.ok(isObject(ours), where);
  if (Array.isArray(recorded)) assert.equal(Object.keys(ours).length, recorded.length, where);
  for (const key of Object.keys(recorded)) {
    compareRecorded(`${where}.${key}`, recorded[key], ours[key]);
  }
}

function countFigures(recorded: unknown): number {
  if (!isObject(recorded)) return 1;
  return Object.values(recorded).reduce<number>((count, part) => count + countFigures(part), 0);
}

const vectors = readdirSync(VECTORS)
  .sort()
  .map((file) => JSON.parse(readFileSync(path.join(VECTORS, file), 'utf8')) as Vector);

for (const vector of vectors) {
  test(`the recorded figures of ${vector.name} reproduce`, () => {
    const state = createState();
    applyBlock(state, parseBlock(JSON.stringify(vector.block)));
    const answer = JSON.parse(answerQuestion(state, vector.query));
    compareRecorded(vector.name, vector.expected, answer);
  });
}

test('the vectors hold as many figures as were recorded', () => {
  assert.equal(countFigures(vectors.map(({ expected }) => expected)), 1406);
});
