/** Generates docs/reference/settings.md from the table of settings; as a program, prints it. */

import { fileURLToPath } from 'node:url';
import {
  describeFile,
  describeNeed,
  SETTING_GROUPS,
  type Setting,
  type SettingGroup,
} from './settings.ts';

const INTRODUCTION = `# Configuration

Every setting has a flag and an environment variable; the flag wins. One that may hold a key or a password
can be given in a file, too. \`perpinfo COMMAND --help\` lists the settings of a command. All bad settings
are reported together, with exit code 2. So is a flag that is given twice, or has no effect without another
one; a variable without effect is only a warning. Limits are per worker.

This page is generated from \`src/config/settings.ts\` by \`npm run docs:configuration\`.
`;

export function formatConfiguration(): string {
  return [INTRODUCTION, ...SETTING_GROUPS.map(formatGroup)].join('\n');
}

function formatGroup({ title, settings }: SettingGroup): string {
  const rows = settings.map(formatRow).join('\n');
  return `## ${title}\n\n| flag | variable | default | meaning |\n|---|---|---|---|\n${rows}\n`;
}

function formatRow(setting: Setting): string {
  const { flag, variable, type, help } = setting;
  const shownFlag = `--${flag} ${type.placeholder}`.trimEnd();
  const cells = [
    `\`${shownFlag}\``,
    `\`${variable}\``,
    formatDefault(setting),
    // The default has a column of its own.
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
