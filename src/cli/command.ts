/** The interface of a command, and the help text of commands. */

import {
  type Declarations,
  describeFile,
  describeNeed,
  groupSettings,
  isShownFirst,
  listSettings,
  type Setting,
  type SettingValues,
} from '../config/setting.ts';
import type { Terminal } from './terminal.ts';

export interface Call<D extends Declarations> {
  readonly settings: SettingValues<D>;
  readonly positionals: readonly string[];
  readonly terminal: Terminal;
  /** Aborted by SIGINT, SIGTERM or SIGHUP. */
  readonly signal: AbortSignal;
}

export interface Command<D extends Declarations = Declarations> {
  readonly name: string;
  readonly summary: string;
  /** The argument after the flags. */
  readonly positional?: {
    /** The name in the help text, such as "[FILE]". */
    readonly usage: string;
    readonly help: string;
    readonly required: boolean;
  };
  readonly settings: D;
  readonly details: string;
  readonly example: string;
  /** True if a signal is the normal way to end the command: the exit code is then 0. */
  readonly isService?: boolean;
  run(call: Call<D>): Promise<void>;
}

function formatLeftColumn(text: string): string {
  return `  ${text}`.padEnd(30);
}

function formatSetting(setting: Setting): string {
  const { flag, variable, type, help } = setting;
  const left = formatLeftColumn(`--${flag} ${type.placeholder}`.trimEnd());
  const suffix = !('default' in setting)
    ? `; ${describeNeed(setting)}`
    : setting.default === undefined
      ? ''
      : `; default ${setting.default}`;
  const line = `${left}${help} (${variable}${suffix})`;
  const { file } = setting;
  if (file === undefined) return line;
  const ofFile = `${describeFile(setting)} (${file.variable})`;
  return `${line}\n${formatLeftColumn(`--${file.flag} FILE`)}${ofFile}`;
}

/**
 * Formats the settings of a command. The settings that most people need come first, and the others
 * follow under headings.
 */
function formatSettings(declarations: Declarations): string[] {
  const groups = groupSettings(listSettings(declarations));
  const format = (settings: readonly Setting[]) => settings.map(formatSetting);
  const isFirst = ({ title }: (typeof groups)[number]) => isShownFirst(title);
  const first = groups.filter(isFirst).flatMap(({ settings }) => format(settings));
  const rest = groups.filter((group) => !isFirst(group));
  return [
    ...first,
    `${formatLeftColumn('--help')}this text`,
    ...rest.flatMap(({ title, settings }) => [`\n${title}:`, ...format(settings)]),
  ];
}

export function formatHelp(command: Command): string {
  const { name, summary, positional, settings, details, example } = command;
  const usage = ['perpinfo', name, '[flags]', positional?.usage].filter(Boolean).join(' ');
  const argument =
    positional === undefined ? [] : [formatLeftColumn(positional.usage) + positional.help];
  return [
    `${usage}\n`,
    `${summary}\n`,
    `${details}\n`,
    ...argument,
    ...formatSettings(settings),
    `\nExample: ${example}\n`,
  ].join('\n');
}
