/**
 * Generates docs/reference/settings.md from the declared settings. If this file is run as a
 * program, it prints the page.
 */

import { fileURLToPath } from 'node:url';
import { REMOVED_SETTINGS } from '../config/removed-settings.ts';
import {
  describeFile,
  describeNeed,
  type Setting,
  type SettingGroup,
  variableOf,
} from '../config/setting.ts';
import { SETTING_GROUPS } from './all-settings.ts';

const INTRODUCTION = `# Settings

Every setting has a flag and an environment variable; the flag wins. A setting that may hold a key or a
password can also be given in a file. \`perpinfo COMMAND --help\` lists the settings of a command, in the
groups of this page.

All invalid settings are reported together, with exit code 2. A flag is invalid, too, if it is given twice,
or has no effect without another flag. A variable without effect is only a warning. Limits are per worker.

This page is generated from the \`settings.ts\` of each folder in \`src/\` by \`npm run docs:configuration\`.
`;

export function formatConfiguration(): string {
  return [INTRODUCTION, ...SETTING_GROUPS.map(formatGroup), formatRemoved()].join('\n');
}

function formatGroup({ title, settings }: SettingGroup): string {
  const rows = settings.map(formatRow).join('\n');
  return `## ${title}\n\n| flag | variable | default | meaning |\n|---|---|---|---|\n${rows}\n`;
}

function formatRemoved(): string {
  const rows = REMOVED_SETTINGS.map(
    ({ flag, reason }) => `| \`--${flag}\` | \`${variableOf(flag)}\` | ${reason} |`,
  );
  return `## Removed\n\n| flag | variable | reason |\n|---|---|---|\n${rows.join('\n')}\n`;
}

function formatRow(setting: Setting): string {
  const { flag, variable, type, help } = setting;
  const shownFlag = `--${flag} ${type.placeholder}`.trimEnd();
  const cells = [
    `\`${shownFlag}\``,
    `\`${variable}\``,
    formatDefault(setting),
    // The default is in another column, so it is removed from this text.
    help.replace(/ \(default: .*\)$/, ''),
  ];
  const row = `| ${cells.join(' | ')} |`;
  const { file } = setting;
  if (file === undefined) return row;
  const ofFile = [`\`--${file.flag} FILE\``, `\`${file.variable}\``, 'none', describeFile(setting)];
  return `${row}\n| ${ofFile.join(' | ')} |`;
}

function formatDefault(setting: Setting): string {
  if (!('default' in setting)) return describeNeed(setting);
  const meaning = / \(default: (.*)\)$/.exec(setting.help)?.[1];
  if (setting.default === undefined) return meaning ?? 'none';
  return setting.default === '' ? 'empty' : `\`${setting.default}\``;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  process.stdout.write(formatConfiguration());
}
