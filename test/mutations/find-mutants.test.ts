/** Every kind of mutant, written out: with all switches off the code does what it did. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { findMutants, REMOVED } from '../../tools/mutation-tester/find-mutants.ts';
import {
  compare,
  compareConstant,
  compareTruth,
  enter,
  reach,
  startNoting,
  stopNoting,
} from '../../tools/mutation-tester/switches.ts';

/** Code, and what each of its mutants has in the place of what. */
const FOUND: readonly [code: string, changes: readonly string[]][] = [
  ['f(a < b)', ['(removed)', 'a < b: (a) <= (b)', 'a < b: (a) >= (b)']],
  ['f(a === b)', ['(removed)', 'a === b: (a) !== (b)']],
  ['f(a * b)', ['(removed)', 'a * b: (a) / (b)']],
  ['f(a && b)', ['(removed)', 'a && b: a', 'a && b: b', 'a && b: (a) || (b)']],
  ['f(a ?? b)', ['(removed)', 'a ?? b: a', 'a ?? b: b']],
  ['f(!a, -b)', ['(removed)', '!a: a', '-b: b']],
  ['a++', ['(removed)', 'a++: a--']],
  ['a += b', ['(removed)', 'a += b: a -= b']],
  ["f(0, 1n, '', 'a')", ['(removed)', '0: 1', '1n: 2n', "'': 'mutant'", "'a': ''"]],
  ['f(true, `a`)', ['(removed)', 'true: false', "`a`: ''"]],
  ['f([a], { a })', ['(removed)', '[a]: []', '{ a }: {}']],
  ['f(/^a$/u)', ['(removed)', '/^a$/u: /a$/u', '/^a$/u: /^a/u']],
  ['f(a?.b.c(), a?.[b])', ['(removed)', 'a?.b.c(): a.b.c()', 'a?.[b]: a[b]']],
  ['f(Math.max(a, b))', ['(removed)', 'Math.max(a, b): Math.min(a, b)']],
  ['f(a.slice(b))', ['(removed)', 'a.slice(b): a']],
  ['f(() => a.b)', ['(removed)', 'a.b: undefined']],
  ['if (a) throw b', ['a: false', 'a: true', '(removed)']],
  ['while (a) { f(b) }', ['a: false', '(removed)']],
  ["import a from 'b'", []],
  ["f({ summary: 'Prose.' })", ['(removed)', "{ summary: 'Prose.' }: {}"]],
  ["const a = { 'b-c': d }", ["{ 'b-c': d }: {}"]],
];

for (const [code, changes] of FOUND) {
  test(`the mutants of ${code}`, () => {
    const found = findMutants(code, 1, 'trying').changes.map(({ original, mutated }) =>
      mutated === REMOVED ? mutated : `${original}: ${mutated}`,
    );
    assert.deepEqual(found, changes);
  });
}

test('a mutant is named by its function and its kind, not by words or lines', () => {
  const listNames = (code: string) =>
    findMutants(code, 1, 'trying').changes.map(({ name }) => name);
  const code = "class A { b() { if (a) f('one'); f('two'); } } const c = () => 1 < 2;";
  const names = [
    'A.b: condition false',
    'A.b: condition true',
    ...['A.b: without statement', 'A.b: empty text'],
    ...['A.b: without statement #2', 'A.b: empty text #2'],
    ...['c: result undefined', 'c: < to <=', 'c: < to >=', 'c: 1 + 1', 'c: 2 + 1'],
  ];
  assert.deepEqual(listNames(code), names);
  assert.deepEqual(listNames(code.replace('one', 'other words').replace('f(', '\n\nf(')), names);
});

/** Where a switch in the wrong place would change what the code does. */
const PROGRAM = `
  function find(items, wanted) {
    for (let at = 0; at < items.length; at++) if (items[at]?.name.at(0) === wanted) return at;
    return -1;
  }
  function sign(value) {
    if (value > 0) return 1; else if (value < 0) return -1;
    else return 0;
  }
  const pairs = ({ a = 1, b } = {}) => ({ a, b: b ?? [a] });
  let turn = 0;
  do turn += 2; while (turn < 5)
  return JSON.stringify([find([undefined, { name: 'xy' }], 'x'), sign(-3), pairs({ b: 2 }), pairs(), turn]);
`;

const mutated = findMutants(`function main() {${PROGRAM}}`, 1, 'trying');

/** Runs the program with one of its mutants switched on, 0 for none. */
function run(id: number): string {
  let turns = 0;
  const countTurn = () => {
    turns++;
    if (turns > 100) throw new Error('endless');
  };
  return new Function('active', 'countTurn', `${mutated.code}; return main();`)({ id }, countTurn);
}

test('with all switches off, the code does what it did', () => {
  assert.equal(run(0), new Function(PROGRAM)());
  assert.equal(run(0), '[1,-1,{"a":1,"b":2},{"a":1,"b":[1]},6]');
});

test('a switch that is on changes what the code does, and an endless loop ends', () => {
  const { changes } = mutated;
  const ids = changes.map((_, index) => index + 1);
  const noticed = ids.filter((id) => {
    try {
      return run(id) !== run(0);
    } catch {
      return true;
    }
  });
  assert.ok(noticed.length > changes.length / 2, `${noticed.length} of ${changes.length}`);
});

test('a mutant that is noted as making no difference gives the same result', () => {
  const noting = findMutants(`function main() {${PROGRAM}}`, 1, 'noting');
  const switches = { reach, enter, compare, compareConstant, compareTruth, countTurn: () => {} };
  startNoting(noting.changes.length);
  const main = new Function(...Object.keys(switches), `${noting.code}; return main();`);
  assert.equal(main(...Object.values(switches)), run(0));
  const { reached } = stopNoting();
  const others = noting.changes.map((_, index) => index + 1).filter((id) => reached[id] === 0);
  for (const id of others) assert.equal(run(id), run(0), noting.changes[id - 1].original);
  const compared = ['(at) <= (items.length)', '(value) >= (0)', '(value) <= (0)', '(turn) <= (5)'];
  const texts = others.map((id) => noting.changes[id - 1].mutated);
  assert.deepEqual(
    compared.filter((text) => !texts.includes(text)),
    [],
  );
});

test('a comparison that throws has been reached, and so has one whose mutant throws', () => {
  startNoting(2);
  assert.throws(() => {
    enter(1);
    throw new Error('in the original');
  });
  enter(2);
  const fail = () => assert.fail('in the mutant');
  assert.equal(compare('original', 2, fail), 'original');
  assert.deepEqual([...stopNoting().reached], [0, 1, 1]);
});
