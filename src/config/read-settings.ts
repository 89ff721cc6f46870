/** Reads settings from arguments and the environment. The only reader of the environment. */

import { parseArgs } from 'node:util';
import { isOnNats } from './nats-address.ts';
import { SETTINGS, type Setting, type SettingName, type Settings } from './settings.ts';
import { UsageError } from './usage-error.ts';
import { readValueFile } from './value-file.ts';
import { isInjected } from './variables.ts';

export interface CommandLine {
  /** Flag to value; undefined if the value is missing. */
  readonly flags: ReadonlyMap<string, string | undefined>;
  readonly positionals: readonly string[];
}

const FLAG_TYPES = Object.fromEntries(
  Object.values(SETTINGS).flatMap((setting) => {
    const type = setting.type.isSwitch ? ('boolean' as const) : ('string' as const);
    return flagsOf(setting).map((flag) => [flag, { type }]);
  }),
);

function flagsOf({ flag, file }: Setting): string[] {
  return file === undefined ? [flag] : [flag, file.flag];
}

/** Splits arguments into flags and positionals. Keeps unknown flags: `readSettings` refuses them. */
export function splitArguments(argv: readonly string[]): CommandLine {
  const flags = new Map<string, string | undefined>();
  const positionals: string[] = [];
  let shortIndex = -1;
  const { tokens } = parseArgs({
    args: [...argv],
    options: FLAG_TYPES,
    strict: false,
    tokens: true,
  });
  for (const token of tokens) {
    if (token.kind === 'positional') positionals.push(token.value);
    if (token.kind !== 'option') continue;
    const { name, value, inlineValue } = token;
    if (!token.rawName.startsWith('--')) {
      // There are no short flags: "-xy", which parseArgs splits into two tokens, is a positional.
      if (token.index !== shortIndex) positionals.push(argv[token.index]);
      shortIndex = token.index;
    } else if (value?.startsWith('--') && !inlineValue) {
      // The value is missing: what follows is the next flag.
      const rest = splitArguments(argv.slice(token.index + 1));
      return {
        flags: new Map([...flags, [name, undefined], ...rest.flags]),
        positionals: [...positionals, ...rest.positionals],
      };
    } else {
      flags.set(name, value ?? (FLAG_TYPES[name]?.type === 'boolean' ? 'true' : undefined));
    }
  }
  return { flags, positionals };
}

type Flags = CommandLine['flags'];

/** The values of a command's settings: from its flags, else the environment, else the default. */
export function readSettings<N extends SettingName>(
  names: readonly N[],
  flags: Flags = new Map(),
  environment: NodeJS.ProcessEnv = process.env,
): Settings<N> {
  const problems = findUnknownFlags(names, flags);
  const values: Record<string, unknown> = {};
  for (const name of names) {
    const setting = SETTINGS[name];
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
  if (problems.length === 0) problems.push(...findUseless(values, flags));
  if (problems.length > 0) throw new UsageError(problems);
  return Object.freeze(values) as Settings<N>;
}

function findUnknownFlags(names: readonly SettingName[], flags: Flags): string[] {
  const known = new Set(names.flatMap((name) => flagsOf(SETTINGS[name])));
  return [...flags.keys()]
    .filter((flag) => !known.has(flag))
    .map((flag) => `--${quote(flag).slice(1, -1)}: unknown flag`);
}

/** Who names credentials means a server, and has forgotten to say which. */
function findUseless(values: Readonly<Record<string, unknown>>, flags: Flags): string[] {
  if (isOnNats(values)) return [];
  return Object.keys(values)
    .map((name) => SETTINGS[name as SettingName])
    .filter(({ isForNats, flag }) => isForNats === true && flags.has(flag))
    .map(({ flag }) => `--${flag}: only for a ledger on NATS, and none is named`);
}

/** Shortened, on one line, and without codes that JSON leaves as they are and a terminal obeys. */
function quote(given: string): string {
  const quoted = JSON.stringify(given.slice(0, 60));
  return quoted.replaceAll(/[\x7f-\x9f]/g, (code) => `\\u00${code.charCodeAt(0).toString(16)}`);
}

interface Given {
  /** The flag or the environment variable. */
  readonly source: string;
  readonly text: string | undefined;
  /** Why there is no text, if more can be said than that. */
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

/** The value itself, or that in a file; never both. */
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
  const other = Object.values(SETTINGS).find(({ name }) => name === replacedBy);
  return other !== undefined && readGiven(other, flags, environment) !== undefined;
}

function describeProblem({ flag, type }: Setting, given: Given | undefined): string {
  if (given === undefined) return `--${flag} ${type.placeholder} is required`;
  const { source, text, fault } = given;
  if (fault !== undefined) return `${source}: ${fault}`;
  const expected = (text !== undefined && type.expectedFor?.(text)) || type.expected;
  return `${source}: got ${describeGiven(type, text)}, expected ${expected}`;
}

/** Never shows a value that may hold a password. */
function describeGiven(type: Setting['type'], text: string | undefined): string {
  if (text === undefined) return 'nothing';
  if (type.describeFault === undefined) return quote(text);
  return `a hidden value (${type.describeFault(text)})`;
}
