/** What is no error in the settings of a command, and yet not what its user wants. */

import type { CommandLine } from './read-settings.ts';
import { SETTINGS, type Setting, type SettingName } from './settings.ts';

/** One sentence for each. */
export function adviseOn(names: readonly SettingName[], flags: CommandLine['flags']): string[] {
  return names.flatMap((name) => adviseOnSecret(SETTINGS[name], flags) ?? []);
}

/** Everybody on the machine may read the flags of a process; its environment only the same user. */
function adviseOnSecret(setting: Setting, flags: CommandLine['flags']): string | undefined {
  const { flag, variable, file, type } = setting;
  const value = type.parse(flags.get(flag) ?? '');
  if (file === undefined || value === undefined || !type.holdsSecret?.(value)) return undefined;
  return (
    `--${flag} holds a key or a password, which every user of this machine can read in the list of ` +
    `processes: give it by --${file.flag} FILE, or by the variable ${variable}`
  );
}
