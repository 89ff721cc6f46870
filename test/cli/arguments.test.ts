/** How arguments are split into flags and positionals. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ALL_DECLARATIONS } from '../../src/cli/all-settings.ts';
import { splitArguments } from '../../src/config/read-settings.ts';

const CASES: [argv: string[], flags: [string, string | undefined][], positionals: string[]][] = [
  [[], [], []],
  [['--data', 'd', 'file'], [['data', 'd']], ['file']],
  [['--data=d', 'file'], [['data', 'd']], ['file']],
  [['--data=', 'file'], [['data', '']], ['file']],
  [['--data=--d'], [['data', '--d']], []],
  [['--at', '-1'], [['at', '-1']], []],
  [['--data'], [['data', undefined]], []],
  [
    ['--data', '--nope', '5', 'x'],
    [
      ['data', undefined],
      ['nope', undefined],
    ],
    ['5', 'x'],
  ],
  [['--data', '--', '--file'], [['data', undefined]], ['--file']],
  [['--refuse-stale', 'x'], [['refuse-stale', 'true']], ['x']],
  [['--refuse-stale=false'], [['refuse-stale', 'false']], []],
  [['--no-fast-lane'], [['no-fast-lane', 'true']], []],
  [['--feed', '-'], [['feed', '-']], []],
  [['-', '-xy', '-xy', ''], [], ['-', '-xy', '-xy', '']],
  [['--', '--data', 'd', '--'], [], ['--data', 'd', '--']],
];

for (const [argv, flags, positionals] of CASES) {
  test(`the arguments ${JSON.stringify(argv)}`, () => {
    const repeated = new Map();
    assert.deepEqual(splitArguments(argv, ALL_DECLARATIONS), {
      flags: new Map(flags),
      repeated,
      positionals,
    });
  });
}

test('all values of a flag that is given again are kept, also where one is missing', () => {
  const argv = ['--at', '1', '--data', '--at=2', '--data', 'd', '--feed', '-'];
  const { repeated } = splitArguments(argv, ALL_DECLARATIONS);
  assert.deepEqual(
    [...repeated],
    [
      ['at', ['1', '2']],
      ['data', [undefined, 'd']],
    ],
  );
});
