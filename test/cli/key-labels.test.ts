/** Labels of keys: what a terminal would not show as it is. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { KEY_SETTINGS } from '../../src/access/settings.ts';
import { formatLabel } from '../../src/config/key-label.ts';
import { readSettings } from '../../src/config/read-settings.ts';

const readLabel = (label: string) =>
  readSettings({ label: KEY_SETTINGS.label }, new Map([['label', label]]), {}).label;

test('a label with codes for the terminal, a line break or a turned direction is refused', () => {
  for (const label of [
    '\u001b[31mred',
    '\u009b31m',
    'a\nb',
    'a\u2028b',
    '\u202eturned',
    '\ud800',
  ]) {
    const words = /--label: got .*expected up to 100 characters on one line, without control/s;
    assert.throws(
      () => readLabel(label),
      (error: Error) => words.test(error.message) && !/\p{Cc}/u.test(error.message),
      JSON.stringify(label),
    );
    assert.doesNotMatch(formatLabel(label), /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}]/u);
  }
  for (const label of ['', 'Küche 2', 'x'.repeat(100)]) {
    assert.equal(readLabel(label), label);
    assert.equal(formatLabel(label), label);
  }
});
