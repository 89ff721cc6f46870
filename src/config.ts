/**
 * Every setting once: its flag, its environment variable, its form, its default and its meaning. The
 * only place that reads the environment. All that is wrong is reported together.
 */

export interface Setting<T = unknown> {
  /** Without the leading dashes; the environment variable is PERPINFO_ and this in capitals. */
  readonly flag: string;
  /** What the value is, as the help shows it: DIR, N, ... */
  readonly placeholder: string;
  readonly help: string;
  /** Undefined: required. */
  readonly fallback?: T;
  /** Undefined where the text does not have the form that `expected` describes. */
  parse(text: string): T | undefined;
  readonly expected: string;
}

function wholeNumber(from: number, to = Number.MAX_SAFE_INTEGER) {
  return {
    expected:
      to === Number.MAX_SAFE_INTEGER
        ? `a whole number, ${from} or more`
        : `a whole number from ${from} to ${to}`,
    parse(text: string): number | undefined {
      const value = /^\d{1,16}$/.test(text) ? Number(text) : Number.NaN;
      return value >= from && value <= to ? value : undefined;
    },
  };
}

const someText = {
  expected: 'some text',
  parse: (text: string): string | undefined => (text === '' ? undefined : text),
};

export const SETTINGS = {
  data: {
    flag: 'data',
    placeholder: 'DIR',
    help: 'the folder that holds the ledger and its snapshots',
    ...someText,
  },
  snapshotEvery: {
    flag: 'snapshot-every',
    placeholder: 'N',
    help: 'write a snapshot of the state at every Nth height',
    fallback: 10_000,
    ...wholeNumber(1),
  },
  snapshotKeep: {
    flag: 'snapshot-keep',
    placeholder: 'N',
    help: 'keep the newest N snapshots and delete older ones',
    fallback: 10,
    ...wholeNumber(1),
  },
  blockBytesMax: {
    flag: 'block-bytes-max',
    placeholder: 'BYTES',
    help: 'the longest line that is taken as a block',
    fallback: 1_048_576,
    ...wholeNumber(1024, 1 << 30),
  },
  at: {
    flag: 'at',
    placeholder: 'HEIGHT',
    help: 'answer as it was at this height (default: the newest)',
    fallback: undefined,
    ...wholeNumber(0),
  },
  blocks: {
    flag: 'blocks',
    placeholder: 'N',
    help: 'how many blocks to write',
    fallback: 1000,
    ...wholeNumber(1),
  },
  accounts: {
    flag: 'accounts',
    placeholder: 'N',
    help: 'how many accounts trade on the simulated exchange',
    fallback: 1000,
    ...wholeNumber(10, 10_000_000),
  },
  seed: {
    flag: 'seed',
    placeholder: 'TEXT',
    help: 'what the simulation follows from: the same seed, the same bytes',
    fallback: '1',
    ...someText,
  },
  interval: {
    flag: 'interval',
    placeholder: 'MS',
    help: 'simulated milliseconds from block to block',
    fallback: 10_000,
    ...wholeNumber(1, 86_400_000),
  },
} as const satisfies Record<string, Setting>;

export type SettingName = keyof typeof SETTINGS;
type SettingValue<N extends SettingName> =
  | Exclude<ReturnType<(typeof SETTINGS)[N]['parse']>, undefined>
  | ((typeof SETTINGS)[N] extends { fallback: undefined } ? undefined : never);

export type Settings<N extends SettingName> = { readonly [Name in N]: SettingValue<Name> };

/** A bad setting or argument: the command is not run, and ends with exit code 2. */
export class UsageError extends Error {
  constructor(problems: readonly string[]) {
    super(problems.join('; '));
    this.name = 'UsageError';
  }
}

export interface CommandLine {
  /** Flag to value, as given; a flag without a value has undefined. */
  readonly flags: ReadonlyMap<string, string | undefined>;
  readonly positionals: readonly string[];
}

/** Splits arguments into `--flag value` or `--flag=value` pairs and the rest; `--` ends the flags. */
export function splitArguments(argv: readonly string[]): CommandLine {
  const flags = new Map<string, string | undefined>();
  const positionals: string[] = [];
  for (let index = 0; index < argv.length; index++) {
    const argument = argv[index];
    if (argument === '--') {
      positionals.push(...argv.slice(index + 1));
      break;
    }
    if (!argument.startsWith('--')) {
      positionals.push(argument);
      continue;
    }
    const equals = argument.indexOf('=');
    if (equals !== -1) flags.set(argument.slice(2, equals), argument.slice(equals + 1));
    else flags.set(argument.slice(2), argv[++index]);
  }
  return { flags, positionals };
}

export function environmentVariable({ flag }: Setting): string {
  return `PERPINFO_${flag.toUpperCase().replaceAll('-', '_')}`;
}

/** The settings that a command has, from its flags, then the environment, then the defaults. */
export function readSettings<N extends SettingName>(
  names: readonly N[],
  flags: CommandLine['flags'],
  environment: NodeJS.ProcessEnv = process.env,
): Settings<N> {
  const known = new Set<string>(names.map((name) => SETTINGS[name].flag));
  const problems = [...flags.keys()]
    .filter((flag) => !known.has(flag))
    .map((flag) => `--${flag}: there is no such flag`);
  const values: Record<string, unknown> = {};
  for (const name of names) {
    const setting: Setting = SETTINGS[name];
    const given = readGiven(setting, flags, environment);
    if (given === undefined && 'fallback' in setting) {
      values[name] = setting.fallback;
      continue;
    }
    const value = given?.text === undefined ? undefined : setting.parse(given.text);
    if (value === undefined) problems.push(describeProblem(setting, given));
    values[name] = value;
  }
  if (problems.length > 0) throw new UsageError(problems);
  return Object.freeze(values) as Settings<N>;
}

interface Given {
  readonly source: string;
  readonly text: string | undefined;
}

function readGiven(
  setting: Setting,
  flags: CommandLine['flags'],
  environment: NodeJS.ProcessEnv,
): Given | undefined {
  const { flag } = setting;
  if (flags.has(flag)) return { source: `--${flag}`, text: flags.get(flag) };
  const variable = environmentVariable(setting);
  const text = environment[variable];
  return text === undefined ? undefined : { source: variable, text };
}

function describeProblem(
  { flag, placeholder, expected }: Setting,
  given: Given | undefined,
): string {
  if (given === undefined) return `--${flag} ${placeholder} is required`;
  const shown = given.text === undefined ? 'nothing' : JSON.stringify(given.text.slice(0, 60));
  return `${given.source}: got ${shown}, expected ${expected}`;
}
