/** The interface of a command, and its help text. */

import {
  describeFile,
  describeNeed,
  SETTINGS,
  type Setting,
  type SettingName,
  type Settings,
} from '../config/settings.ts';
import type { Terminal } from './terminal.ts';

export interface Call<N extends SettingName> {
  readonly settings: Settings<N>;
  readonly positionals: readonly string[];
  readonly terminal: Terminal;
  /** Aborted by SIGINT, SIGTERM or SIGHUP. */
  readonly signal: AbortSignal;
}

export interface Command<N extends SettingName = SettingName> {
  readonly name: string;
  readonly summary: string;
  /** The argument besides flags. */
  readonly positional?: {
    /** As the help shows it: "[FILE]". */
    readonly usage: string;
    readonly help: string;
    readonly required: boolean;
  };
  readonly settings: readonly N[];
  readonly details: string;
  readonly example: string;
  /** True if a signal is the normal way to end it: the exit code is then 0. */
  readonly isService?: boolean;
  run(call: Call<N>): Promise<void>;
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
    ...settings.map((setting) => formatSetting(SETTINGS[setting])),
    `${formatLeftColumn('--help')}this text`,
    `\nExample: ${example}\n`,
  ].join('\n');
}
