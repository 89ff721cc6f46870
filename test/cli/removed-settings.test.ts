/** Settings of earlier versions are refused by name, with the reason. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ALL_SETTINGS } from '../../src/cli/all-settings.ts';
import { serve } from '../../src/cli/commands/serve.ts';
import { readSettings, splitArguments } from '../../src/config/read-settings.ts';
import { REMOVED_SETTINGS } from '../../src/config/removed-settings.ts';
import { flagsOf, variableOf, variablesOf } from '../../src/config/setting.ts';
import { UsageError } from '../../src/config/usage-error.ts';
import { askedWrongly, run } from '../../tools/harness/program.ts';

const DATA = { PERPINFO_DATA: 'd' };

for (const { flag, reason } of REMOVED_SETTINGS) {
  test(`--${flag} is refused as a flag and as a variable, with the reason`, () => {
    const { flags } = splitArguments([`--${flag}`, '5'], serve.settings);
    const byFlag = new UsageError([`--${flag} was removed: ${reason}`]);
    assert.throws(() => readSettings(serve.settings, flags, DATA), byFlag);
    const variable = variableOf(flag);
    const byVariable = new UsageError([`${variable} was removed: ${reason}`]);
    const environment = { ...DATA, [variable]: '5' };
    assert.throws(() => readSettings(serve.settings, new Map(), environment), byVariable);
  });
}

test('no setting has the name of a removed setting', () => {
  const flags = ALL_SETTINGS.flatMap(flagsOf);
  const variables = ALL_SETTINGS.flatMap(variablesOf);
  for (const { flag } of REMOVED_SETTINGS) {
    assert.ok(!flags.includes(flag) && !variables.includes(variableOf(flag)), flag);
  }
});

test('the program refuses a removed setting with exit code 2', async () => {
  const [{ flag, reason }] = REMOVED_SETTINGS;
  const refusal = askedWrongly(`--${flag} was removed: ${reason}`);
  assert.deepEqual(await run(['serve', '--data', 'd', `--${flag}`, '5']), refusal);
});
