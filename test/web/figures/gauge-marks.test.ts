/** The marks of the gauge are where the one table of risk says that a level begins. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  describeThresholds,
  levelOfMarginRatio,
  marginRatioMarks,
} from '../../../web/src/figures/risk-levels.ts';
import { dashesAt } from '../../../web/src/parts/dashes.ts';

const levelAt = (tenthsOfPercent: number) =>
  levelOfMarginRatio({ units: BigInt(tenthsOfPercent), scale: 3 });

/** Every place, in tenths of a per cent, at which the level is another one than just before. */
function findSteps(): number[] {
  const places = Array.from({ length: 1_000 }, (_, index) => index + 1);
  return places.filter((place) => levelAt(place) !== levelAt(place - 1));
}

/** Where the dashes of a line begin, without those that have no length. */
function beginningsOf(dashes: string): number[] {
  const lengths = dashes.split(' ').map(Number);
  const beginnings: number[] = [];
  let place = 0;
  for (const [index, length] of lengths.entries()) {
    if (index % 2 === 0 && length > 0) beginnings.push(Number(place.toFixed(2)));
    place += length;
  }
  return beginnings;
}

test('a mark of the gauge is where the level changes, and the page says so in words', () => {
  const steps = findSteps().map((place) => place / 10);
  assert.equal(steps.length, 2);
  assert.deepEqual(marginRatioMarks(), steps);
  assert.deepEqual(beginningsOf(dashesAt(marginRatioMarks())), steps);
  for (const step of steps) assert.ok(describeThresholds().includes(`from ${step} %`), `${step}`);
});

test('dashes begin at the places that are asked for, and do not begin again', () => {
  assert.deepEqual(beginningsOf(dashesAt([12.5, 33, 99])), [12.5, 33, 99]);
  const rest = Number(dashesAt([12.5]).split(' ').at(-1));
  assert.ok(rest > 100, `${rest}`);
});
