/** Which tests are tried first. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Experience } from '../../tools/mutation-tester/experience.ts';

const TESTS = [
  { name: 'slow', ms: 5000 },
  { name: 'quick', ms: 2 },
  { name: 'middle', ms: 20 },
];

function order(experience: Experience, file: string): string[] {
  const sorted = experience.sort(
    file,
    TESTS,
    ({ name }) => name,
    ({ ms }) => ms,
  );
  return sorted.map(({ name }) => name);
}

test('tests that were never tried come by the time that they take', () => {
  assert.deepEqual(order(new Experience(), 'a.ts'), ['quick', 'middle', 'slow']);
});

test('a test that notices mutants of a file soon comes first there, however long it may take', () => {
  const experience = new Experience();
  for (let mutant = 0; mutant < 100; mutant++) {
    const ms = [2, 20, 10];
    experience.add('a.ts', ['quick', 'middle', 'slow'], { ms, verdict: { outcome: 'killed' } });
  }
  assert.deepEqual(order(experience, 'a.ts'), ['slow', 'quick', 'middle']);
  assert.deepEqual(order(experience, 'b.ts'), ['quick', 'middle', 'slow']);
});

test('a test that notices nothing comes later with every trial', () => {
  const experience = new Experience();
  for (let mutant = 0; mutant < 30; mutant++) {
    experience.add('a.ts', ['quick'], { ms: [2], verdict: { outcome: 'survived' } });
  }
  assert.deepEqual(order(experience, 'a.ts'), ['middle', 'slow', 'quick']);
});
