/** Reads settings from arguments and the environment. No other file reads the environment. */

import { parseArgs } from 'node:util';
import { findLikelyName } from './likely-name.ts';
import { findAbsentPart } from './needed-part.ts';
import { describeRemoved, findRemovedVariables } from './removed-settings.ts';
import {
  type Declarations,
  flagsOf,
  listSettings,
  type Setting,
  type SettingValues,
} from './setting.ts';
import { isInjected } from './unknown-variables.ts';
import { UsageError } from './usage-error.ts';
import { readValueFile } from './value-file.ts';

export interface CommandLine {
  /** The value of each flag; undefined if the value is missing. */
  readonly flags: ReadonlyMap<string, string | undefined>;
  /** The flags that are given more than once, with all their values. */
  readonly repeated: ReadonlyMap<string, readonly (string | undefined)[]>;
  readonly positionals: readonly string[];
}

/**
 * Splits arguments into flags and positionals. A switch among the declared settings has no value.
 * Unknown flags are in the result, and `readSettings` refuses them.
 */
export function splitArguments(argv: readonly string[], declarations: Declarations): CommandLine {
  const { given, positionals } = splitTokens(argv, listFlagTypes(declarations));
  const flags = new Map(given);
  const values = [...flags.keys()].map((flag) => {
    const givenValues = given.filter(([name]) => name === flag).map(([, value]) => value);
    return [flag, givenValues] as const;
  });
  const repeated = new Map(values.filter(([, givenValues]) => givenValues.length > 1));
  return { flags, repeated, positionals };
}

interface Tokens {
  /** Flags with their values, in the order of the arguments. */
  readonly given: readonly (readonly [flag: string, value: string | undefined])[];
  readonly positionals: readonly string[];
}

type FlagTypes = Readonly<Record<string, { readonly type: 'boolean' | 'string' }>>;

function listFlagTypes(declarations: Declarations): FlagTypes {
  const types = listSettings(declarations).flatMap((setting) => {
    const type = setting.type.isSwitch ? ('boolean' as const) : ('string' as const);
    return flagsOf(setting).map((flag) => [flag, { type }] as const);
  });
  return Object.fromEntries(types);
}

function splitTokens(argv: readonly string[], types: FlagTypes): Tokens {
  const given: [string, string | undefined][] = [];
  const positionals: string[] = [];
  let shortIndex = -1;
  const { tokens } = parseArgs({
    args: [...argv],
    options: types,
    strict: false,
    tokens: true,
  });
  for (const token of tokens) {
    if (token.kind === 'positional') positionals.push(token.value);
    if (token.kind !== 'option') continue;
    const { name, value, inlineValue } = token;
    if (!token.rawName.startsWith('--')) {
      // There are no short flags, so "-xy" is a positional. parseArgs splits "-xy" into two tokens.
      if (token.index !== shortIndex) positionals.push(argv[token.index]);
      shortIndex = token.index;
    } else if (value?.startsWith('--') && !inlineValue) {
      // The value is missing, because the next argument is a flag.
      const rest = splitTokens(argv.slice(token.index + 1), types);
      return {
        given: [...given, [name, undefined], ...rest.given],
        positionals: [...positionals, ...rest.positionals],
      };
    } else {
      given.push([name, value ?? (types[name]?.type === 'boolean' ? 'true' : undefined)]);
    }
  }
  return { given, positionals };
}

type Flags = CommandLine['flags'];

/**
 * Reads the declared settings from the flags. A setting without a flag is read from the
 * environment, and a setting without both gets its default.
 */
export function readSettings<D extends Declarations>(
  declarations: D,
  flags: Flags = new Map(),
  environment: NodeJS.ProcessEnv = process.env,
): SettingValues<D> {
  return readAll(declarations, { flags, environment, problems: [] });
}

/**
 * Does the same as `readSettings` for a whole command line: also refuses a flag that is given
 * twice.
 */
export function readCommandSettings<D extends Declarations>(
  declarations: D,
  { flags, repeated }: Pick<CommandLine, 'flags' | 'repeated'>,
): SettingValues<D> {
  const problems = findRepeated(listSettings(declarations), repeated);
  return readAll(declarations, { flags, environment: process.env, problems });
}

interface Sources {
  readonly flags: Flags;
  readonly environment: NodeJS.ProcessEnv;
  /** The problems that were found in the arguments before. */
  readonly problems: readonly string[];
}

function readAll<D extends Declarations>(
  declarations: D,
  { flags, environment, problems: found }: Sources,
): SettingValues<D> {
  const settings = listSettings(declarations);
  const problems = [
    ...findUnknownFlags(settings, flags),
    ...findRemovedVariables(environment),
    ...found,
  ];
  const values: Record<string, unknown> = {};
  for (const setting of settings) {
    const { name } = setting;
    const given = readGiven(setting, flags, environment);
    if (given === undefined && 'default' in setting) {
      values[name] = setting.default;
    } else if (given === undefined && isReplaced(setting, flags, environment)) {
      values[name] = '';
    } else {
      values[name] = given?.text === undefined ? undefined : setting.type.parse(given.text);
      if (values[name] === undefined) problems.push(describeProblem(setting, given));
    }
  }
  if (problems.length === 0) problems.push(...findUseless(settings, values, flags));
  if (problems.length > 0) throw new UsageError(problems);
  return Object.freeze(values) as SettingValues<D>;
}

function findUnknownFlags(settings: readonly Setting[], flags: Flags): string[] {
  const known = settings.flatMap(flagsOf);
  return [...flags.keys()]
    .filter((flag) => !known.includes(flag))
    .map((flag) => {
      const removed = describeRemoved(`--${flag}`);
      if (removed !== undefined) return removed;
      const likely = findLikelyName(flag, known);
      const advice = likely === undefined ? '' : `, did you mean --${likely}?`;
      return `--${quote(flag).slice(1, -1)}: unknown flag${advice}`;
    });
}

/** Refuses a flag with several values: one of them must be a mistake, and it is unknown which one. */
function findRepeated(settings: readonly Setting[], repeated: CommandLine['repeated']): string[] {
  return [...repeated].flatMap(([flag, values]) => {
    const setting = settings.find((each) => flagsOf(each).includes(flag));
    if (setting === undefined) return [];
    const isHidden = flag === setting.flag && setting.type.describeFault !== undefined;
    const shown = values.map((value) => (isHidden ? 'a hidden value' : quoteGiven(value)));
    return [`--${flag}: got ${shown.join(' and ')}, expected one value`];
  });
}

/** Refuses flags for a part that the process does not have. Probably the flag for that part was forgotten. */
function findUseless(
  settings: readonly Setting[],
  values: Readonly<Record<string, unknown>>,
  flags: Flags,
): string[] {
  return settings.flatMap((setting) => {
    const part = findAbsentPart(setting.needs ?? [], values);
    if (part === undefined) return [];
    const given = flagsOf(setting).filter((flag) => flags.has(flag));
    return given.map((flag) => `--${flag}: ${part.refusal}`);
  });
}

/** Quotes a text: shortened, on one line, and with escapes for terminal codes that JSON does not escape. */
function quote(given: string): string {
  const quoted = JSON.stringify(given.slice(0, 60));
  return quoted.replaceAll(/[\x7f-\x9f]/g, (code) => `\\u00${code.charCodeAt(0).toString(16)}`);
}

interface Given {
  /** The name of the flag or of the environment variable. */
  readonly source: string;
  readonly text: string | undefined;
  /** Why there is no text, if the reason is known. */
  readonly fault?: string;
}

function readGiven(
  { flag, variable, file }: Setting,
  flags: Flags,
  environment: NodeJS.ProcessEnv,
): Given | undefined {
  const ofFlags = chooseGiven(
    flags.has(flag) ? { source: `--${flag}`, text: flags.get(flag) } : undefined,
    file !== undefined && flags.has(file.flag)
      ? { source: `--${file.flag}`, text: flags.get(file.flag) }
      : undefined,
  );
  return (
    ofFlags ??
    chooseGiven(
      givenBy(variable, environment[variable]),
      file && givenBy(file.variable, environment[file.variable]),
    )
  );
}

function givenBy(source: string, text: string | undefined): Given | undefined {
  return text === undefined || isInjected(source, text) ? undefined : { source, text };
}

/** Chooses between the given value and the value in a file. If both are given, that is a fault. */
function chooseGiven(value: Given | undefined, file: Given | undefined): Given | undefined {
  if (file === undefined) return value;
  const { source, text } = file;
  if (value !== undefined) {
    return { source, text: undefined, fault: `${value.source} is given, too: give one of both` };
  }
  if (text === undefined || text === '') return { source, text: undefined };
  return { source, ...readValueFile(text) };
}

function isReplaced(
  { replacedBy }: Setting,
  flags: Flags,
  environment: NodeJS.ProcessEnv,
): boolean {
  return replacedBy !== undefined && readGiven(replacedBy, flags, environment) !== undefined;
}

function describeProblem({ flag, type }: Setting, given: Given | undefined): string {
  if (given === undefined) return `--${flag} ${type.placeholder} is required`;
  const { source, text, fault } = given;
  if (fault !== undefined) return `${source}: ${fault}`;
  const expected = (text !== undefined && type.expectedFor?.(text)) || type.expected;
  return `${source}: got ${describeGiven(type, text)}, expected ${expected}`;
}

/** Describes a value for an error. A value that may contain a password is not shown. */
function describeGiven(type: Setting['type'], text: string | undefined): string {
  if (text === undefined || type.describeFault === undefined) return quoteGiven(text);
  return `a hidden value (${type.describeFault(text)})`;
}

function quoteGiven(text: string | undefined): string {
  return text === undefined ? 'nothing' : quote(text);
}
