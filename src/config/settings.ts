/** The table of settings: name, type, default and help of each. */

import { NATS_ADDRESS_EXPECTED } from './nats-address.ts';
import type { PartName } from './needed-part.ts';
import {
  budgetType,
  bytes,
  count,
  duration,
  expiry,
  explorerUrl,
  headerType,
  height,
  labelType,
  ledgerLocation,
  milliseconds,
  moment,
  natsAddress,
  oneOf,
  port,
  replicationFactor,
  shortText,
  standardInput,
  switchType,
  text,
  upstreamBudget,
  upstreamUrl,
  upstreamWeights,
  userAddress,
  type ValueType,
} from './value-types.ts';

interface Declaration {
  /** Without the dashes; by default the setting's name in kebab case. */
  readonly flag?: string;
  /** The environment variable; by default PERPINFO_ and the flag in capitals. */
  readonly variable?: string;
  readonly type: ValueType;
  /** Absent if the setting is required, undefined if it is optional. */
  readonly default?: unknown;
  /** The setting that may be given instead; this one is then ''. */
  readonly replacedBy?: string;
  /** True if the value may be given in a file instead, since it may hold a secret. */
  readonly inFile?: boolean;
  /** The parts without any of which it has no effect. */
  readonly needs?: readonly PartName[];
  readonly help: string;
}
type Declarations = Readonly<Record<string, Declaration>>;

const HOUR_MS = 3_600_000;

const LEDGER = {
  data: {
    type: text('DIR'),
    replacedBy: 'ledger',
    help: 'folder of the ledger, its snapshots and its archive; with --ledger, of the snapshots and the archive',
  },
  ledger: {
    type: natsAddress,
    default: undefined,
    inFile: true,
    help: `ledger on NATS JetStream, ${NATS_ADDRESS_EXPECTED}, or tls:// (default: the folder)`,
  },
  natsReplicas: {
    type: replicationFactor,
    needs: ['nats'],
    default: 1,
    help: 'replication factor: 1 or 3',
  },
  natsCreds: {
    type: text('FILE'),
    needs: ['nats'],
    default: undefined,
    help: 'credentials of a NATS user, as nsc writes them',
  },
  natsCa: {
    type: text('FILE'),
    needs: ['nats'],
    default: undefined,
    help: 'certificate authority of the NATS servers, for TLS',
  },
  natsWait: {
    type: milliseconds({ from: 0, to: HOUR_MS }),
    needs: ['nats'],
    default: 60_000,
    help: 'how long a service, or append, waits at its start for NATS servers that cannot be reached',
  },
  ledgerRetry: {
    type: milliseconds({ from: 0, to: HOUR_MS }),
    needs: ['writer', 'nats'],
    default: 30_000,
    help: 'how long to retry an append that NATS does not acknowledge',
  },
  acceptLoss: {
    type: switchType,
    needs: ['writer', 'nats'],
    default: false,
    help: 'continue even if the ledger on NATS has lost acknowledged blocks',
  },
} as const satisfies Declarations;

const COPY = {
  until: {
    type: height({ from: 1 }),
    default: undefined,
    help: 'last height to copy (default: all blocks)',
  },
  from: {
    type: ledgerLocation,
    inFile: true,
    help: 'ledger to copy: a folder, or the URL of a ledger on NATS',
  },
  to: {
    type: ledgerLocation,
    inFile: true,
    help: 'ledger to copy to: a folder, or the URL of a ledger on NATS',
  },
} as const satisfies Declarations;

const BACKUP = {
  backupTo: {
    flag: 'to',
    variable: 'PERPINFO_BACKUP_TO',
    type: text('FILE'),
    help: 'file to back up to; an earlier backup of the same ledger is brought up to date',
  },
  backupFrom: {
    flag: 'from',
    variable: 'PERPINFO_BACKUP_FROM',
    type: text('FILE'),
    help: 'backup to restore',
  },
  withoutKeys: {
    type: switchType,
    default: false,
    help: 'leave the access keys out of the backup',
  },
} as const satisfies Declarations;

const RETENTION = {
  snapshotEvery: {
    type: count({ from: 1 }),
    default: 10_000,
    help: 'save a snapshot of the state at every Nth height',
  },
  snapshotKeep: {
    type: count({ from: 1 }),
    default: 10,
    help: 'number of snapshots to keep; older ones are deleted',
  },
  keepBlocks: {
    type: count({ from: 1 }),
    needs: ['writer'],
    default: undefined,
    help: 'prune all but the newest N blocks, never past the oldest snapshot (default: keep all)',
  },
  keepDays: {
    type: count({ from: 1, to: 100_000 }),
    needs: ['writer'],
    default: undefined,
    help: 'prune blocks N days older than the newest, never past the oldest snapshot (default: keep all)',
  },
} as const satisfies Declarations;

const ARCHIVE = {
  archive: {
    type: switchType,
    default: false,
    help: 'keep an archive beside the ledger, and answer about the past from it',
  },
  archiveDays: {
    type: count({ from: 1, to: 100_000 }),
    needs: ['archiver'],
    default: undefined,
    help: 'keep N days in the archive, counted from the newest block (default: all)',
  },
  archiveData: {
    flag: 'data',
    variable: 'PERPINFO_DATA',
    type: text('DIR'),
    help: 'folder with the archive, that of the ledger',
  },
  once: {
    type: switchType,
    default: false,
    help: 'stop at the newest block instead of following the ledger',
  },
  historyFrom: {
    flag: 'from',
    variable: 'PERPINFO_HISTORY_FROM',
    type: moment,
    default: undefined,
    help: 'first time: 2026-01-31, 2026-01-31T12:00:00Z, or milliseconds (default: all that is kept)',
  },
  historyTo: {
    flag: 'to',
    variable: 'PERPINFO_HISTORY_TO',
    type: moment,
    default: undefined,
    help: 'last time, likewise (default: the newest block)',
  },
  historyStep: {
    flag: 'step',
    variable: 'PERPINFO_HISTORY_STEP',
    type: duration,
    default: 86_400_000,
    help: 'time between two rows, such as 1d, 12h, 15min or 30s',
  },
  historyFormat: {
    flag: 'format',
    variable: 'PERPINFO_HISTORY_FORMAT',
    type: oneOf('FORMAT', 'csv', 'ndjson'),
    default: 'csv',
    help: 'csv, with a line of column names, or ndjson, an object per line',
  },
} as const satisfies Declarations;

const FEED = {
  blockBytesMax: {
    type: bytes({ from: 1024, to: 1 << 30 }),
    needs: ['writer'],
    default: 1_048_576,
    help: 'maximum size of a block, which is one line',
  },
  aheadMax: {
    type: milliseconds({ from: 0 }),
    needs: ['writer'],
    default: 300_000,
    help: "refuse a block whose time is further ahead of this machine's clock; 0 for no limit",
  },
  feed: {
    type: standardInput,
    default: undefined,
    help: 'source of blocks to append: - for standard input',
  },
} as const satisfies Declarations;

const FOLLOW = {
  follow: {
    type: upstreamUrl,
    default: undefined,
    inFile: true,
    help: 'follow this server, which speaks our interface: what is asked for is read from it',
  },
  upstreamHeader: {
    type: headerType,
    needs: ['follower'],
    default: undefined,
    inFile: true,
    help: 'header to send to the server, such as the one with its key',
  },
  followInterval: {
    type: milliseconds({ from: 10, to: HOUR_MS }),
    needs: ['follower'],
    default: 100,
    help: 'minimum time between two blocks',
  },
  followSweep: {
    type: milliseconds({ from: 1000, to: 24 * HOUR_MS }),
    needs: ['follower'],
    default: 60_000,
    help: 'age at which an account is read again, even if nothing is known to have happened',
  },
  followMarks: {
    type: milliseconds({ from: 0, to: HOUR_MS }),
    needs: ['follower'],
    default: 60_000,
    help: 'how often marks are recorded of markets in which no followed account has a position; 0 for as they come',
  },
  followKeepDays: {
    type: count({ from: 0, to: 100_000 }),
    needs: ['follower'],
    default: 7,
    help: 'without --keep-blocks and --keep-days, prune blocks N days older than the newest, never past the oldest snapshot or the end of the archive; 0 to keep all',
  },
  followUsersMax: {
    type: count({ from: 0, to: 1000 }),
    needs: ['follower'],
    default: 10,
    help: 'maximum number of users that are subscribed to instead of polled: the most requested; 0 for none',
  },
  followPush: {
    type: oneOf('MODE', 'on', 'off'),
    needs: ['follower'],
    default: 'on',
    help: 'off for an exchange without a push connection: everything is asked for',
  },
  followBudget: {
    type: upstreamBudget,
    needs: ['follower'],
    default: 1200,
    help: "weight a minute that is asked for at most, in the server's weights; 0 for no limit",
  },
  upstreamWeights: {
    type: upstreamWeights,
    needs: ['follower'],
    default: undefined,
    help: "the server's weights by question, where they are not the public server's; default is for all that are not named",
  },
  followForget: {
    type: milliseconds({ from: 1000 }),
    needs: ['follower'],
    default: HOUR_MS,
    help: 'an account that nobody has asked for in this time is no longer read',
  },
  followWait: {
    type: milliseconds({ from: 0, to: 60_000 }),
    default: 5_000,
    help: 'how long a question waits for an account that has to be read (502 upstream_failed)',
  },
  maxAccountAge: {
    type: milliseconds({ from: 0 }),
    default: 0,
    help: 'an account that was read longer ago is read again before it is answered; 0 for no limit',
  },
  forward: {
    type: switchType,
    default: false,
    help: 'pass on questions about what the ledger does not hold, such as prices, orders and candles',
  },
  forwardKeep: {
    type: milliseconds({ from: 0, to: HOUR_MS }),
    needs: ['follower'],
    default: 1000,
    help: 'how long an answer to a question that was passed on is given to others',
  },
} as const satisfies Declarations;

const SERVING = {
  host: {
    type: text('HOST'),
    default: '127.0.0.1',
    help: 'address to listen on; 0.0.0.0 for all',
  },
  port: {
    type: port,
    default: 8080,
    help: 'port to listen on; 0 lets the system choose',
  },
  adminHost: {
    type: text('HOST'),
    default: '127.0.0.1',
    help: 'address to serve metrics on, and requests for a snapshot',
  },
  adminPort: {
    type: port,
    default: 9464,
    help: 'port to serve metrics on, and requests for a snapshot; 0 lets the system choose',
  },
  workers: {
    type: count({ from: 1, to: 256 }),
    default: 1,
    help: 'number of worker processes, each with the whole state',
  },
  maxAge: {
    type: milliseconds({ from: 0 }),
    default: 10_000,
    help: 'ledger time further than this from the clock is stale: /health is 503; 0 for no limit',
  },
  refuseStale: {
    type: switchType,
    default: false,
    help: 'refuse to answer from a stale ledger (503 behind)',
  },
  maxBehind: {
    type: milliseconds({ from: 0 }),
    default: 0,
    help:
      'refuse to answer from a state that may be older than the ledger by more than this, as when NATS ' +
      'cannot be reached (503 behind); 0 for no limit',
  },
  minHeightWait: {
    type: milliseconds({ from: 0, to: HOUR_MS }),
    default: 1000,
    help: 'how long a request waits for its Ledger-Min-Height (503 behind)',
  },
  explorerUrl: {
    type: explorerUrl,
    default: undefined,
    help: 'the dashboard links an address to this page of an explorer; {address} stands for the address',
  },
} as const satisfies Declarations;

const REQUESTS = {
  bodyBytesMax: {
    type: bytes({ from: 256, to: 1 << 26 }),
    default: 65_536,
    help: 'maximum size of the body of a request (413)',
  },
  headerBytesMax: {
    type: bytes({ from: 1024, to: 1 << 20 }),
    default: 16_384,
    help: 'maximum size of the request line and all headers of a request together (431)',
  },
  headerTimeout: {
    type: milliseconds({ from: 100, to: HOUR_MS }),
    default: 10_000,
    help: 'deadline for the headers of a request (408)',
  },
  requestTimeout: {
    type: milliseconds({ from: 100, to: HOUR_MS }),
    default: 15_000,
    help: 'deadline for a whole request (408), or for a message on a push connection',
  },
  idleTimeout: {
    type: milliseconds({ from: 100, to: HOUR_MS }),
    default: 65_000,
    help: 'keep-alive timeout: how long a connection may be idle between requests',
  },
  connectionsMax: {
    type: count({ from: 1, to: 1_000_000 }),
    default: 20_000,
    help: 'maximum number of connections per worker; further ones are closed',
  },
  overloadDelay: {
    type: milliseconds({ from: 1, to: HOUR_MS }),
    default: 250,
    help: 'refuse requests while the event loop is delayed by more than this (503 overloaded)',
  },
  noFastLane: {
    type: switchType,
    default: false,
    help: "serve every request with Node's own HTTP server: the same answers, only slower",
  },
} as const satisfies Declarations;

const PUSH = {
  pushInterval: {
    type: milliseconds({ from: 0, to: HOUR_MS }),
    default: 250,
    help: 'time between two pushes to a subscription, up to a tenth less to send several together; 0 to push after every batch of blocks',
  },
  pushConnectionsMax: {
    type: count({ from: 0, to: 1_000_000 }),
    default: 2000,
    help: 'maximum number of push connections per key (429)',
  },
  pushSubscriptionsMax: {
    type: count({ from: 0, to: 10_000_000 }),
    default: 20_000,
    help: 'maximum number of subscriptions per key',
  },
  pushBacklogMax: {
    type: bytes({ from: 65_536, to: 1 << 30 }),
    default: 4_194_304,
    help: 'maximum number of unread bytes of a push connection before it is closed',
  },
  pushStallTimeout: {
    type: milliseconds({ from: 100, to: HOUR_MS }),
    default: 20_000,
    help: 'how long a push connection may leave data unread, or a ping unanswered',
  },
} as const satisfies Declarations;

const PROCESS = {
  stopTimeout: {
    type: milliseconds({ from: 0, to: HOUR_MS }),
    default: 10_000,
    help: 'how long requests in flight may take to finish when the service stops',
  },
  logLevel: {
    type: oneOf('LEVEL', 'debug', 'info', 'warn', 'error', 'silent'),
    default: 'info',
    help: 'log level: debug, info, warn, error or silent',
  },
  logFormat: {
    type: oneOf('FORMAT', 'auto', 'text', 'json'),
    default: 'auto',
    help: 'log format: text, json, or auto, which is text on a terminal and json elsewhere',
  },
} as const satisfies Declarations;

const KEYS = {
  label: {
    type: labelType,
    default: '',
    help: 'label of the key, to tell it from others',
  },
  budget: {
    type: budgetType,
    default: undefined,
    help: 'rate limit of the key, such as 1200/min; a period is s, min or h (default: no limit)',
  },
  expires: {
    type: expiry,
    default: undefined,
    help: 'when the key expires: a time such as 2027-01-31T00:00:00Z, or 30d, 12h (default: never)',
  },
  key: {
    type: text('ID'),
    default: undefined,
    help: 'add a second secret to this key instead of creating a key',
  },
} as const satisfies Declarations;

const DEMO = {
  keptData: {
    flag: 'data',
    // Not PERPINFO_DATA: the demo must never write to a real ledger.
    variable: 'PERPINFO_DEMO_DATA',
    type: text('DIR'),
    default: undefined,
    help: 'keep the demo in this folder between runs (default: a temporary folder)',
  },
  demoAccounts: {
    flag: 'accounts',
    variable: 'PERPINFO_DEMO_ACCOUNTS',
    type: count({ from: 10, to: 1_000_000 }),
    default: 500,
    help: 'number of accounts in the demo',
  },
  noAuction: {
    type: switchType,
    default: false,
    help: 'run without an auction: its status is null',
  },
} as const satisfies Declarations;

const QUERY = {
  at: {
    type: height({ from: 0 }),
    default: undefined,
    help: 'answer as of this height (default: the newest)',
  },
} as const satisfies Declarations;

const COMPARE = {
  upstream: {
    type: upstreamUrl,
    inFile: true,
    help: 'server that speaks our interface',
  },
  user: {
    type: userAddress,
    help: 'whose account',
  },
  dex: {
    type: shortText(6),
    default: undefined,
    help: 'on which dex (default: the first)',
  },
} as const satisfies Declarations;

const PROBE = {
  probedUser: {
    flag: 'user',
    variable: 'PERPINFO_USER',
    type: userAddress,
    default: undefined,
    help: 'whose accounts are compared with ours (default: nobody)',
  },
  probeTime: {
    flag: 'time',
    variable: 'PERPINFO_PROBE_TIME',
    type: duration,
    default: 600_000,
    help: 'how long to look, such as 10min or 30s',
  },
  probeJson: {
    flag: 'json',
    variable: 'PERPINFO_PROBE_JSON',
    type: text('FILE'),
    default: undefined,
    help: 'write the report as JSON to this file, too',
  },
  showUser: {
    type: switchType,
    default: false,
    help: 'leave addresses in the report',
  },
} as const satisfies Declarations;

const SIMULATE = {
  blocks: {
    type: count({ from: 1 }),
    default: 1000,
    help: 'number of blocks to write',
  },
  accounts: {
    type: count({ from: 10, to: 10_000_000 }),
    default: 1000,
    help: 'number of accounts on the simulated exchange',
  },
  seed: {
    type: text('TEXT'),
    default: '1',
    help: 'seed of the simulation: the same seed gives the same bytes',
  },
  interval: {
    type: milliseconds({ from: 1, to: 86_400_000 }),
    default: 10_000,
    help: 'simulated time between two blocks',
  },
} as const satisfies Declarations;

const DECLARATIONS = {
  ...LEDGER,
  ...COPY,
  ...BACKUP,
  ...RETENTION,
  ...ARCHIVE,
  ...FEED,
  ...FOLLOW,
  ...SERVING,
  ...REQUESTS,
  ...PUSH,
  ...PROCESS,
  ...KEYS,
  ...DEMO,
  ...QUERY,
  ...COMPARE,
  ...PROBE,
  ...SIMULATE,
};

export type SettingName = keyof typeof DECLARATIONS;
type SettingValue<N extends SettingName> =
  | Exclude<ReturnType<(typeof DECLARATIONS)[N]['type']['parse']>, undefined>
  | ((typeof DECLARATIONS)[N] extends { default: undefined } ? undefined : never);

/** The values of the named settings. */
export type Settings<N extends SettingName> = { readonly [Name in N]: SettingValue<Name> };

export interface Setting extends Declaration {
  readonly name: SettingName;
  readonly flag: string;
  readonly variable: string;
  /** The flag and the variable that name a file with the value; only with `inFile`. */
  readonly file?: { readonly flag: string; readonly variable: string };
}

function complete(name: SettingName, declaration: Declaration): Setting {
  const { flag = name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`) } = declaration;
  const { variable = `PERPINFO_${flag.toUpperCase().replaceAll('-', '_')}` } = declaration;
  const complete = { ...declaration, name, flag, variable };
  if (declaration.inFile !== true) return complete;
  return { ...complete, file: { flag: `${flag}-file`, variable: `${variable}_FILE` } };
}

export const SETTINGS = Object.fromEntries(
  Object.entries<Declaration>(DECLARATIONS).map(([name, declaration]) => [
    name,
    complete(name as SettingName, declaration),
  ]),
) as Readonly<Record<SettingName, Setting>>;

/** What the flag is for that names a file. */
export function describeFile({ flag }: Setting): string {
  return `file with the value of --${flag}, which nobody then sees in the list of processes`;
}

/** Of a setting without a default. */
export function describeNeed({ replacedBy }: Setting): string {
  return replacedBy === undefined ? 'required' : `required without --${replacedBy}`;
}

export interface SettingGroup {
  readonly title: string;
  readonly settings: readonly Setting[];
}

function group(title: string, declarations: Declarations): SettingGroup {
  return {
    title,
    settings: Object.keys(declarations).map((name) => SETTINGS[name as SettingName]),
  };
}

/** In the order of docs/reference/settings.md. */
export const SETTING_GROUPS: readonly SettingGroup[] = [
  group('Ledger', LEDGER),
  group('Feed: append, serve --feed', FEED),
  group('Follow a live exchange: serve --follow, follow', FOLLOW),
  group('Snapshots and retention', RETENTION),
  group('Archive', ARCHIVE),
  group('Serving', SERVING),
  group('Requests and connections', REQUESTS),
  group('Push', PUSH),
  group('Stop and log', PROCESS),
  group('Keys: keys create', KEYS),
  group('query', QUERY),
  group('compare (--upstream also follow, probe; --user and --dex also history)', COMPARE),
  group('probe', PROBE),
  group('copy', COPY),
  group('backup, restore', BACKUP),
  group('demo', DEMO),
  group('simulate (--seed also demo)', SIMULATE),
];
