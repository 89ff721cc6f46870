/** What is no error in the settings of a command, and yet not what its user wants. */

import { findAbsentPart } from './needed-part.ts';
import type { CommandLine } from './read-settings.ts';
import { SETTINGS, type Setting, type SettingName } from './settings.ts';
import { findUnknownVariables } from './variables.ts';

type Flags = CommandLine['flags'];

/** One sentence for each. `values` are those of the command's settings, by name. */
export function adviseOn(
  values: Readonly<Record<string, unknown>>,
  flags: Flags,
  environment: NodeJS.ProcessEnv = process.env,
): string[] {
  const settings = Object.keys(values).map((name) => SETTINGS[name as SettingName]);
  return [
    ...findUnknownVariables(environment),
    ...settings.flatMap((setting) => adviseOnSecret(setting, flags) ?? []),
    ...settings.flatMap((setting) => adviseOnUseless(setting, values, environment)),
  ];
}

/** Everybody on the machine may read the flags of a process; its environment only the same user. */
function adviseOnSecret(setting: Setting, flags: Flags): string | undefined {
  const { flag, variable, file, type } = setting;
  const value = type.parse(flags.get(flag) ?? '');
  if (file === undefined || value === undefined || !type.holdsSecret?.(value)) return undefined;
  return (
    `--${flag} holds a key or a password, which every user of this machine can read in the list of ` +
    `processes: give it by --${file.flag} FILE, or by the variable ${variable}`
  );
}

/** Several commands may share an environment, and each reads a part of it: a warning, not an error. */
function adviseOnUseless(
  { needs = [], variable, file }: Setting,
  values: Readonly<Record<string, unknown>>,
  environment: NodeJS.ProcessEnv,
): string[] {
  const part = findAbsentPart(needs, values);
  if (part === undefined) return [];
  return [variable, ...(file === undefined ? [] : [file.variable])]
    .filter((name) => environment[name] !== undefined)
    .map((name) => `the variable ${name} is ignored: ${part.absence}`);
}
