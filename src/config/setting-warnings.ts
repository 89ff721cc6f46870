/** Warnings about settings that are valid, but that are probably a mistake. */

import { findAbsentPart } from './needed-part.ts';
import type { CommandLine } from './read-settings.ts';
import { type Declarations, listSettings, type Setting, variablesOf } from './setting.ts';

type Flags = CommandLine['flags'];

/** Returns one sentence for each warning. `values` has the values of the declared settings, by name. */
export function listSettingWarnings(
  declarations: Declarations,
  values: Readonly<Record<string, unknown>>,
  flags: Flags,
  environment: NodeJS.ProcessEnv = process.env,
): string[] {
  const settings = listSettings(declarations);
  return [
    ...settings.flatMap((setting) => adviseOnSecret(setting, flags) ?? []),
    ...settings.flatMap((setting) => adviseOnUseless(setting, values, environment)),
  ];
}

/**
 * Returns a warning if a flag contains a secret. Every user of the machine can read the flags of a
 * process, but not its environment.
 */
function adviseOnSecret(setting: Setting, flags: Flags): string | undefined {
  const { flag, variable, file, type } = setting;
  const value = type.parse(flags.get(flag) ?? '');
  if (file === undefined || value === undefined || !type.holdsSecret?.(value)) return undefined;
  return (
    `--${flag} holds a key or a password, which every user of this machine can read in the list of ` +
    `processes: give it by --${file.flag} FILE, or by the variable ${variable}`
  );
}

/**
 * Returns warnings about variables without an effect. These are not errors, because several
 * commands may share an environment, and each command uses a part of it.
 */
function adviseOnUseless(
  setting: Setting,
  values: Readonly<Record<string, unknown>>,
  environment: NodeJS.ProcessEnv,
): string[] {
  const part = findAbsentPart(setting.needs ?? [], values);
  if (part === undefined) return [];
  return variablesOf(setting)
    .filter((name) => environment[name] !== undefined)
    .map((name) => `the variable ${name} is ignored: ${part.absence}`);
}
