/**
 * Every setting once: its flag, its environment variable, its form, its default and its meaning. The
 * only place that reads the environment. All that is wrong is reported together.
 */

import { BUDGET_EXPECTED, parseBudget } from '../access/budgets.ts';
import {
  ADDRESS_EXPECTED,
  describeAddressFault,
  type NatsAddress,
  parseNatsAddress,
} from './nats-address.ts';

export interface Setting<T = unknown> {
  /** Without the leading dashes. */
  readonly flag: string;
  /** The environment variable, where it is not PERPINFO_ and the flag in capitals. */
  readonly variable?: string;
  /** What the value is, as the help shows it: DIR, N, ... */
  readonly placeholder: string;
  readonly help: string;
  /** Undefined: required. */
  readonly fallback?: T;
  /** The setting that takes the place of this one: it is then not required. */
  readonly unless?: string;
  /** Where the value may hold a password: what is wrong with it, since it is not shown. */
  describeFault?(text: string): string;
  /** True for a setting that is on or off: its flag stands alone. */
  readonly isSwitch?: boolean;
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

function oneOf<T extends string>(...choices: T[]) {
  return {
    expected: `one of ${choices.join(', ')}`,
    parse: (text: string): T | undefined => choices.find((choice) => choice === text),
  };
}

/** A folder, or a ledger on NATS, as the settings `data` and `ledger` would say it. */
const someStorage = {
  placeholder: 'PLACE',
  describeFault: (text: string): string =>
    text === '' ? 'it is empty' : describeAddressFault(text),
  expected: `a folder, or ${ADDRESS_EXPECTED}`,
  parse(text: string): { data: string; ledger: NatsAddress | undefined } | undefined {
    if (text === '') return undefined;
    if (!/^\w+:\/\//.test(text)) return { data: text, ledger: undefined };
    const ledger = parseNatsAddress(text);
    return ledger === undefined ? undefined : { data: '', ledger };
  },
};

const onOrOff = {
  placeholder: '',
  isSwitch: true,
  fallback: false,
  expected: 'true or false',
  parse: (text: string): boolean | undefined =>
    text === 'true' ? true : text === 'false' ? false : undefined,
};

const HOUR_MS = 3_600_000;
const UNITS_MS: Readonly<Record<string, number>> = { min: 60_000, h: HOUR_MS, d: 24 * HOUR_MS };

/** A time to come, in milliseconds since 1970: "2027-01-31T00:00:00Z", or "30d" from now. */
function parseExpiry(text: string): number | undefined {
  const now = Date.now();
  const span = /^(\d{1,6})(min|h|d)$/.exec(text);
  const time = span ? now + Number(span[1]) * UNITS_MS[span[2]] : parseTime(text);
  return time > now ? time : undefined;
}

/** Not a number where the text is not a time, or not one of the calendar, such as 2027-02-30. */
function parseTime(text: string): number {
  const isTime = /^\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d(\.\d{1,9})?)?Z)?$/.test(text);
  const time = isTime ? Date.parse(text) : Number.NaN;
  const isOfCalendar = new Date(time).toJSON()?.startsWith(text.slice(0, 10));
  return isOfCalendar ? time : Number.NaN;
}

export const SETTINGS = {
  data: {
    flag: 'data',
    placeholder: 'DIR',
    help: 'the folder that holds the ledger and its snapshots; with --ledger, snapshots only',
    unless: 'ledger',
    ...someText,
  },
  ledger: {
    flag: 'ledger',
    placeholder: 'URL',
    help: `the ledger on NATS JetStream, ${ADDRESS_EXPECTED}, or tls:// (default: the folder)`,
    fallback: undefined,
    describeFault: describeAddressFault,
    expected: ADDRESS_EXPECTED,
    parse: parseNatsAddress,
  },
  natsReplicas: {
    flag: 'nats-replicas',
    placeholder: 'N',
    help: 'how many NATS servers keep what is made there: 1 or 3',
    fallback: 1,
    expected: '1 or 3',
    parse: (text: string): number | undefined => (/^[13]$/.test(text) ? Number(text) : undefined),
  },
  natsCreds: {
    flag: 'nats-creds',
    placeholder: 'FILE',
    help: 'the credentials of a NATS user, as nsc writes them',
    fallback: undefined,
    ...someText,
  },
  natsCa: {
    flag: 'nats-ca',
    placeholder: 'FILE',
    help: 'the authority that certifies the NATS servers, for TLS',
    fallback: undefined,
    ...someText,
  },
  ledgerRetry: {
    flag: 'ledger-retry',
    placeholder: 'MS',
    help: 'how long an append goes on trying while NATS does not take it',
    fallback: 30_000,
    ...wholeNumber(0, HOUR_MS),
  },
  acceptLoss: {
    flag: 'accept-loss',
    help: 'go on although the ledger on NATS has lost blocks that were written to it',
    ...onOrOff,
  },
  until: {
    flag: 'until',
    placeholder: 'HEIGHT',
    help: 'copy no block after this height (default: all blocks)',
    fallback: undefined,
    ...wholeNumber(1),
  },
  from: {
    flag: 'from',
    help: 'the ledger to copy: a folder, or the URL of one on NATS',
    ...someStorage,
  },
  to: {
    flag: 'to',
    help: 'where to copy it: a folder, or the URL of a ledger on NATS',
    ...someStorage,
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
  keepBlocks: {
    flag: 'keep-blocks',
    placeholder: 'N',
    help: 'drop old blocks but the newest N, never past the oldest snapshot (default: keep all)',
    fallback: undefined,
    ...wholeNumber(1),
  },
  keepDays: {
    flag: 'keep-days',
    placeholder: 'N',
    help: 'drop blocks older than N days before the newest, as above (default: keep all)',
    fallback: undefined,
    ...wholeNumber(1, 100_000),
  },
  blockBytesMax: {
    flag: 'block-bytes-max',
    placeholder: 'BYTES',
    help: 'the longest line that is taken as a block',
    fallback: 1_048_576,
    ...wholeNumber(1024, 1 << 30),
  },
  aheadMax: {
    flag: 'ahead-max',
    placeholder: 'MS',
    help: "refuse a block whose time is further ahead of this machine's clock; 0 for any time",
    fallback: 300_000,
    ...wholeNumber(0),
  },
  feed: {
    flag: 'feed',
    placeholder: '-',
    help: 'also append the blocks that come on standard input, which is the only choice: -',
    fallback: undefined,
    expected: '-, standard input',
    parse: (text: string): '-' | undefined => (text === '-' ? text : undefined),
  },
  host: {
    flag: 'host',
    placeholder: 'HOST',
    help: 'the address to listen on; 0.0.0.0 for all',
    fallback: '127.0.0.1',
    ...someText,
  },
  port: {
    flag: 'port',
    placeholder: 'PORT',
    help: 'the port of the service; 0 lets the system choose',
    fallback: 8080,
    ...wholeNumber(0, 65_535),
  },
  adminHost: {
    flag: 'admin-host',
    placeholder: 'HOST',
    help: 'the address of the metrics',
    fallback: '127.0.0.1',
    ...someText,
  },
  adminPort: {
    flag: 'admin-port',
    placeholder: 'PORT',
    help: 'the port of the metrics; 0 lets the system choose',
    fallback: 9464,
    ...wholeNumber(0, 65_535),
  },
  workers: {
    flag: 'workers',
    placeholder: 'N',
    help: 'how many processes answer, each with the whole state',
    fallback: 1,
    ...wholeNumber(1, 256),
  },
  maxAge: {
    flag: 'max-age',
    placeholder: 'MS',
    help: 'ledger time older than this, or as far ahead, turns /health to 503; 0 for any age',
    fallback: 10_000,
    ...wholeNumber(0),
  },
  refuseStale: {
    flag: 'refuse-stale',
    help: 'refuse to answer from a ledger older than --max-age, or as far ahead',
    ...onOrOff,
  },
  minHeightWait: {
    flag: 'min-height-wait',
    placeholder: 'MS',
    help: 'how long a request with Ledger-Min-Height waits for that height',
    fallback: 1000,
    ...wholeNumber(0, HOUR_MS),
  },
  bodyBytesMax: {
    flag: 'body-bytes-max',
    placeholder: 'BYTES',
    help: 'the largest body of a request (413)',
    fallback: 65_536,
    ...wholeNumber(256, 1 << 26),
  },
  headerBytesMax: {
    flag: 'header-bytes-max',
    placeholder: 'BYTES',
    help: 'the largest headers of a request, all together (431)',
    fallback: 16_384,
    ...wholeNumber(1024, 1 << 20),
  },
  headerTimeout: {
    flag: 'header-timeout',
    placeholder: 'MS',
    help: 'how long the headers of a request may take (408)',
    fallback: 10_000,
    ...wholeNumber(100, HOUR_MS),
  },
  requestTimeout: {
    flag: 'request-timeout',
    placeholder: 'MS',
    help: 'how long a whole request (408), or a message on a push connection, may take to arrive',
    fallback: 15_000,
    ...wholeNumber(100, HOUR_MS),
  },
  idleTimeout: {
    flag: 'idle-timeout',
    placeholder: 'MS',
    help: 'how long a connection may stay open between requests',
    fallback: 65_000,
    ...wholeNumber(100, HOUR_MS),
  },
  connectionsMax: {
    flag: 'connections-max',
    placeholder: 'N',
    help: 'how many connections one worker holds; further ones are closed',
    fallback: 20_000,
    ...wholeNumber(1, 1_000_000),
  },
  overloadDelay: {
    flag: 'overload-delay',
    placeholder: 'MS',
    help: 'requests are turned away (503 overloaded) while they wait longer than this',
    fallback: 250,
    ...wholeNumber(1, HOUR_MS),
  },
  noFastLane: {
    flag: 'no-fast-lane',
    help: "every request goes through Node's own HTTP server; answers are the same, only slower",
    ...onOrOff,
  },
  pushInterval: {
    flag: 'push-interval',
    placeholder: 'MS',
    help: 'a subscription is sent a state at most this often; 0 for each time blocks are read',
    fallback: 250,
    ...wholeNumber(0, HOUR_MS),
  },
  pushConnectionsMax: {
    flag: 'push-connections-max',
    placeholder: 'N',
    help: 'how many push connections a key may have open (429)',
    fallback: 2000,
    ...wholeNumber(0, 1_000_000),
  },
  pushSubscriptionsMax: {
    flag: 'push-subscriptions-max',
    placeholder: 'N',
    help: 'how many subscriptions a key may have on them',
    fallback: 20_000,
    ...wholeNumber(0, 10_000_000),
  },
  pushBacklogMax: {
    flag: 'push-backlog-max',
    placeholder: 'BYTES',
    help: 'how much a push connection may leave unread before it is cut off',
    fallback: 4_194_304,
    ...wholeNumber(65_536, 1 << 30),
  },
  pushStallTimeout: {
    flag: 'push-stall-timeout',
    placeholder: 'MS',
    help: 'how long a push connection may leave something unread, or a ping unanswered',
    fallback: 20_000,
    ...wholeNumber(100, HOUR_MS),
  },
  stopTimeout: {
    flag: 'stop-timeout',
    placeholder: 'MS',
    help: 'how long requests under way may take to finish when the service is stopped',
    fallback: 10_000,
    ...wholeNumber(0, HOUR_MS),
  },
  logLevel: {
    flag: 'log-level',
    placeholder: 'LEVEL',
    help: 'what is logged: debug, info, warn, error or silent',
    fallback: 'info',
    ...oneOf('debug', 'info', 'warn', 'error', 'silent'),
  },
  logFormat: {
    flag: 'log-format',
    placeholder: 'FORMAT',
    help: 'how it is logged: text for people, json for programs, auto for text on a terminal only',
    fallback: 'auto',
    ...oneOf('auto', 'text', 'json'),
  },
  label: {
    flag: 'label',
    placeholder: 'TEXT',
    help: 'what the key is for, to tell it from others',
    fallback: '',
    expected: 'up to 100 characters',
    parse: (text: string): string | undefined => (text.length <= 100 ? text : undefined),
  },
  budget: {
    flag: 'budget',
    placeholder: 'WEIGHT/PERIOD',
    help: 'what the key may spend, such as 1200/min; a period is s, min or h (default: no limit)',
    fallback: undefined,
    expected: BUDGET_EXPECTED,
    parse: parseBudget,
  },
  expires: {
    flag: 'expires',
    placeholder: 'WHEN',
    help: 'when the key stops working: a time such as 2027-01-31T00:00:00Z, or 30d, 12h (default: never)',
    fallback: undefined,
    expected: 'a time to come such as 2027-01-31T00:00:00Z, or 30d, 12h, 45min',
    parse: parseExpiry,
  },
  key: {
    flag: 'key',
    placeholder: 'ID',
    help: 'give this key a second secret instead of making a new key',
    fallback: undefined,
    ...someText,
  },
  keptData: {
    flag: 'data',
    // Never the variable of the real ledger: the demo writes to this one.
    variable: 'PERPINFO_DEMO_DATA',
    placeholder: 'DIR',
    help: 'keep the demo in this folder from run to run (default: a temporary folder)',
    fallback: undefined,
    ...someText,
  },
  demoAccounts: {
    flag: 'accounts',
    variable: 'PERPINFO_DEMO_ACCOUNTS',
    placeholder: 'N',
    help: 'how many accounts trade in the demo',
    fallback: 500,
    ...wholeNumber(10, 1_000_000),
  },
  noAuction: {
    flag: 'no-auction',
    help: 'the auction is not live: its status is null',
    ...onOrOff,
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

const SWITCHES: ReadonlySet<string> = new Set(
  Object.values<Setting>(SETTINGS)
    .filter(({ isSwitch }) => isSwitch)
    .map(({ flag }) => flag),
);

/**
 * Splits arguments into `--flag value` or `--flag=value` pairs and the rest; `--` ends the flags. A
 * value that itself begins with two dashes needs the second form: mostly it is a value left out.
 */
export function splitArguments(argv: readonly string[]): CommandLine {
  const flags = new Map<string, string | undefined>();
  const positionals: string[] = [];
  for (let index = 0; index < argv.length; index++) {
    const argument = argv[index];
    if (argument === '--') {
      positionals.push(...argv.slice(index + 1));
      break;
    }
    if (!isFlag(argument)) {
      positionals.push(argument);
      continue;
    }
    const equals = argument.indexOf('=');
    if (equals !== -1) flags.set(argument.slice(2, equals), argument.slice(equals + 1));
    else if (SWITCHES.has(argument.slice(2))) flags.set(argument.slice(2), 'true');
    else flags.set(argument.slice(2), isFlag(argv[index + 1]) ? undefined : argv[++index]);
  }
  return { flags, positionals };
}

function isFlag(argument: string | undefined): boolean {
  return argument?.startsWith('--') === true;
}

export function environmentVariable({ flag, variable }: Setting): string {
  return variable ?? `PERPINFO_${flag.toUpperCase().replaceAll('-', '_')}`;
}

/** The settings that a command has, from its flags, then the environment, then the defaults. */
export function readSettings<N extends SettingName>(
  names: readonly N[],
  flags: CommandLine['flags'] = new Map(),
  environment: NodeJS.ProcessEnv = process.env,
): Settings<N> {
  const known = new Set<string>(names.map((name) => SETTINGS[name].flag));
  const problems = [...flags.keys()]
    .filter((flag) => !known.has(flag))
    .map((flag) => `--${describeFlag(flag)}: there is no such flag`);
  const values: Record<string, unknown> = {};
  for (const name of names) {
    const setting: Setting = SETTINGS[name];
    const given = readGiven(setting, flags, environment);
    if (given === undefined && 'fallback' in setting) {
      values[name] = setting.fallback;
      continue;
    }
    if (given === undefined && isReplaced(setting, flags, environment)) {
      values[name] = '';
      continue;
    }
    const value = given?.text === undefined ? undefined : setting.parse(given.text);
    if (value === undefined) problems.push(describeProblem(setting, given));
    values[name] = value;
  }
  if (problems.length > 0) throw new UsageError(problems);
  return Object.freeze(values) as Settings<N>;
}

/** Whoever mistyped a flag may have typed anything: it is shown short and in one line. */
function describeFlag(flag: string): string {
  return JSON.stringify(flag.slice(0, 60)).slice(1, -1);
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

/** Whether another setting is given that takes the place of this one; its text is then empty. */
function isReplaced(
  { unless }: Setting,
  flags: CommandLine['flags'],
  environment: NodeJS.ProcessEnv,
): boolean {
  const other = Object.values<Setting>(SETTINGS).find(({ flag }) => flag === unless);
  return other !== undefined && readGiven(other, flags, environment) !== undefined;
}

function describeProblem(
  { flag, placeholder, expected, describeFault }: Setting,
  given: Given | undefined,
): string {
  if (given === undefined) return `--${flag} ${placeholder} is required`;
  const shown =
    given.text === undefined
      ? 'nothing'
      : describeFault !== undefined
        ? `a text that is not shown (${describeFault(given.text)})`
        : JSON.stringify(given.text.slice(0, 60));
  return `${given.source}: got ${shown}, expected ${expected}`;
}
