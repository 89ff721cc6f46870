/** The types of a setting. Each folder declares its settings in its settings.ts. */

import type { PartName } from './needed-part.ts';
import type { ValueType } from './value-types.ts';

/** Groups of settings that belong to one command, or to a few commands. */
const COMMAND_GROUPS = [
  'keys create',
  'query',
  'compare, probe and history',
  'archive',
  'copy',
  'backup and restore',
  'demo',
  'simulate',
] as const;

/** The headings of the settings, in the order of docs/reference/settings.md. */
const GROUPS = [
  'Most used',
  'Follow an exchange',
  'Freshness of answers',
  'Requests and connections',
  'Push',
  'Snapshots and retention',
  'Blocks from a feed',
  'Ledger on NATS',
  'Dashboard',
  'Operation',
  ...COMMAND_GROUPS,
] as const;
export type GroupName = (typeof GROUPS)[number];

/** The groups that a help text shows first, without a heading. */
const FIRST_GROUPS: readonly GroupName[] = ['Most used', ...COMMAND_GROUPS];

export function isShownFirst(group: GroupName): boolean {
  return FIRST_GROUPS.includes(group);
}

export interface Declaration {
  readonly group: GroupName;
  /** The flag without the dashes; by default the setting's name in kebab case. */
  readonly flag?: string;
  /** The environment variable; by default PERPINFO_ and the flag in capitals. */
  readonly variable?: string;
  readonly type: ValueType;
  /** Absent if the setting is required; undefined if the setting is optional without a default. */
  readonly default?: unknown;
  /** A setting that may be given instead of this setting. The value of this setting is then ''. */
  readonly replacedBy?: Setting;
  /** True if the value may be given in a file, because the value may be a secret. */
  readonly inFile?: boolean;
  /**
   * The parts that the process must have; without all of these parts, the setting has no effect.
   */
  readonly needs?: readonly PartName[];
  readonly help: string;
}

/** Settings by name. */
export type Declarations = Readonly<Record<string, Declaration>>;

type SettingValue<D extends Declaration> =
  | Exclude<ReturnType<D['type']['parse']>, undefined>
  | (D extends { default: undefined } ? undefined : never);

/** The values of declared settings, by name. */
export type SettingValues<D extends Declarations> = {
  readonly [Name in keyof D]: SettingValue<D[Name]>;
};

/**
 * A declaration with all names, including the names that are derived from the setting's own name.
 */
export interface Setting extends Declaration {
  readonly name: string;
  readonly flag: string;
  readonly variable: string;
  /** The flag and the variable that name a file with the value; only with `inFile`. */
  readonly file?: { readonly flag: string; readonly variable: string };
}

export function completeSetting(name: string, declaration: Declaration): Setting {
  const { flag = name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`) } = declaration;
  const { variable = variableOf(flag) } = declaration;
  const complete = { ...declaration, name, flag, variable };
  if (declaration.inFile !== true) return complete;
  return { ...complete, file: { flag: `${flag}-file`, variable: `${variable}_FILE` } };
}

/** Returns the environment variable of a flag. */
export function variableOf(flag: string): string {
  return `PERPINFO_${flag.toUpperCase().replaceAll('-', '_')}`;
}

export function listSettings(declarations: Declarations): Setting[] {
  return Object.entries(declarations).map(([name, each]) => completeSetting(name, each));
}

/** Returns the flags that give a value to the setting. */
export function flagsOf({ flag, file }: Setting): string[] {
  return file === undefined ? [flag] : [flag, file.flag];
}

/** Returns the environment variables that give a value to the setting. */
export function variablesOf({ variable, file }: Setting): string[] {
  return file === undefined ? [variable] : [variable, file.variable];
}

export interface SettingGroup {
  readonly title: GroupName;
  readonly settings: readonly Setting[];
}

/** Returns the settings by group, without the empty groups. */
export function groupSettings(settings: readonly Setting[]): SettingGroup[] {
  return GROUPS.map((title) => ({
    title,
    settings: settings.filter(({ group }) => group === title),
  })).filter((group) => group.settings.length > 0);
}

/** Returns the help text of the flag that names a file. */
export function describeFile({ flag }: Setting): string {
  return `file with the value of --${flag}, so that the list of processes does not show the value`;
}

/** Says when a setting without a default is required. */
export function describeNeed({ replacedBy }: Setting): string {
  return replacedBy === undefined ? 'required' : `required without --${replacedBy.flag}`;
}
