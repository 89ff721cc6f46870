/** Commands that the documents and the help texts show: they exist, and put no secret on a command line. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ALL_DECLARATIONS, ALL_SETTINGS } from '../../src/cli/all-settings.ts';
import { loadAllCommands, loadCommand } from '../../src/cli/commands.ts';
import { splitArguments } from '../../src/config/read-settings.ts';
import { REMOVED_SETTINGS } from '../../src/config/removed-settings.ts';
import { flagsOf, listSettings, variableOf, variablesOf } from '../../src/config/setting.ts';
import { listSettingWarnings } from '../../src/config/setting-warnings.ts';
import { fencedBlocks, listDocuments, readDocument } from './documents.ts';

/** Up to what the shell reads itself: a pipe, a redirection, a comment, the end of the line. */
const SHOWN =
  /(?:npx perpinfo|node bin\/perpinfo\.js|^ *perpinfo) ((?:'[^']*'|"[^"]*"|[^|&;<>#\n])*)/gm;

function readWords(line: string): string[] {
  const words = line.match(/(?:'[^']*'|"[^"]*"|[^\s'"])+/g) ?? [];
  return words.map((word) => word.replaceAll(/['"]/g, ''));
}

function findShown(text: string): string[] {
  return Array.from(text.replaceAll(/\\\n\s*/g, '').matchAll(SHOWN), ([, line]) => line.trim());
}

/** The changelog may show what is gone. */
const PAGES = listDocuments().filter((name) => name !== 'CHANGELOG.md');

async function listCommandLines(): Promise<string[]> {
  const ofDocuments = PAGES.flatMap((name) => fencedBlocks(readDocument(name), 'sh'));
  const ofHelp = (await loadAllCommands()).map(({ example }) => example.replace(/^.*\| /, ''));
  return [...ofDocuments, ...ofHelp].flatMap(findShown);
}

test('every command that is shown exists, with its flags, and shows a key or a password to nobody', async () => {
  const lines = await listCommandLines();
  assert.ok(lines.length > 30, `${lines.length} commands are shown`);
  for (const line of lines) {
    const words = readWords(line);
    const command = await loadCommand(words);
    const { flags } = splitArguments(words.slice(command.name.split(' ').length), command.settings);
    const known = listSettings(command.settings).flatMap(flagsOf);
    for (const flag of flags.keys()) assert.ok(known.includes(flag), `${line}: --${flag}`);
    const values = Object.fromEntries(
      Object.keys(command.settings).map((name) => [name, undefined]),
    );
    assert.deepEqual(listSettingWarnings(command.settings, values, flags, {}), [], line);
  }
});

test('an address with a key in it is noticed among the commands', () => {
  const block = 'feed | npx perpinfo serve --data ./data --follow https://host/VENDOR-KEY > log\n';
  const [line] = findShown(block);
  assert.equal(line, 'serve --data ./data --follow https://host/VENDOR-KEY');
  const { flags } = splitArguments(readWords(line), ALL_DECLARATIONS);
  assert.equal(listSettingWarnings(ALL_DECLARATIONS, { follow: undefined }, flags, {}).length, 1);
});

test('variables that the documents show are read', () => {
  const removed = REMOVED_SETTINGS.map(({ flag }) => variableOf(flag));
  const known = [...ALL_SETTINGS.flatMap(variablesOf), ...removed];
  for (const name of PAGES) {
    for (const [variable] of readDocument(name).matchAll(/PERPINFO_\w*[A-Z]/g)) {
      assert.ok(known.includes(variable), `${name}: ${variable}`);
    }
  }
});
