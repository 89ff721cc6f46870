/** The settings that belong to one command, or to a few commands. */

import type { Declarations } from '../config/setting.ts';
import {
  count,
  duration,
  height,
  ledgerLocation,
  oneOf,
  shortText,
  switchType,
  text,
  timestamp,
  userAddress,
} from '../config/value-types.ts';

export const QUERY_SETTINGS = {
  at: {
    group: 'query',
    type: height({ from: 0 }),
    default: undefined,
    help: 'answer as of this height (default: the newest)',
  },
} as const satisfies Declarations;

export const ACCOUNT_SETTINGS = {
  user: {
    group: 'compare, probe and history',
    type: userAddress,
    help: 'address of the account',
  },
  dex: {
    group: 'compare, probe and history',
    type: shortText(6),
    default: undefined,
    help: 'dex of the account (default: the first)',
  },
} as const satisfies Declarations;

export const HISTORY_SETTINGS = {
  archiveData: {
    group: 'compare, probe and history',
    flag: 'data',
    variable: 'PERPINFO_DATA',
    type: text('DIR'),
    help: 'folder of the ledger with the archive',
  },
  ...ACCOUNT_SETTINGS,
  historyFrom: {
    group: 'compare, probe and history',
    flag: 'from',
    variable: 'PERPINFO_HISTORY_FROM',
    type: timestamp,
    default: undefined,
    help: 'first time: 2026-01-31, 2026-01-31T12:00:00Z, or milliseconds (default: the start of the archive)',
  },
  historyTo: {
    group: 'compare, probe and history',
    flag: 'to',
    variable: 'PERPINFO_HISTORY_TO',
    type: timestamp,
    default: undefined,
    help: 'last time, in the same form (default: the newest block)',
  },
  historyStep: {
    group: 'compare, probe and history',
    flag: 'step',
    variable: 'PERPINFO_HISTORY_STEP',
    type: duration,
    default: 86_400_000,
    help: 'time between two rows, such as 1d, 12h, 15min or 30s',
  },
  historyFormat: {
    group: 'compare, probe and history',
    flag: 'format',
    variable: 'PERPINFO_HISTORY_FORMAT',
    type: oneOf('FORMAT', 'csv', 'ndjson'),
    default: 'csv',
    help: 'csv, with a line of column names, or ndjson, an object per line',
  },
} as const satisfies Declarations;

export const ARCHIVE_COMMAND_SETTINGS = {
  once: {
    group: 'archive',
    type: switchType,
    default: false,
    help: 'stop at the newest block instead of following the ledger',
  },
} as const satisfies Declarations;

export const COPY_SETTINGS = {
  from: {
    group: 'copy',
    type: ledgerLocation,
    inFile: true,
    help: 'ledger to copy: a folder, or the URL of a ledger on NATS',
  },
  to: {
    group: 'copy',
    type: ledgerLocation,
    inFile: true,
    help: 'ledger to copy to: a folder, or the URL of a ledger on NATS',
  },
  until: {
    group: 'copy',
    type: height({ from: 1 }),
    default: undefined,
    help: 'last height to copy (default: all blocks)',
  },
} as const satisfies Declarations;

export const SEED_SETTINGS = {
  seed: {
    group: 'simulate',
    type: text('TEXT'),
    default: '1',
    help: 'seed of the simulation: the same seed gives the same bytes',
  },
} as const satisfies Declarations;

export const SIMULATE_SETTINGS = {
  blocks: {
    group: 'simulate',
    type: count({ from: 1 }),
    default: 1000,
    help: 'number of blocks to write',
  },
  accounts: {
    group: 'simulate',
    type: count({ from: 10, to: 10_000_000 }),
    default: 1000,
    help: 'number of accounts on the simulated exchange',
  },
  ...SEED_SETTINGS,
} as const satisfies Declarations;

export const DEMO_SETTINGS = {
  demoAccounts: {
    group: 'demo',
    flag: 'accounts',
    variable: 'PERPINFO_DEMO_ACCOUNTS',
    type: count({ from: 10, to: 1_000_000 }),
    default: 500,
    help: 'number of accounts in the demo',
  },
  demoData: {
    group: 'demo',
    flag: 'data',
    // The variable is not PERPINFO_DATA, because the demo must never write to a real ledger.
    variable: 'PERPINFO_DEMO_DATA',
    type: text('DIR'),
    default: undefined,
    help: 'keep the demo in this folder between runs (default: a temporary folder)',
  },
  noAuction: {
    group: 'demo',
    type: switchType,
    default: false,
    help: 'run without an auction: its status is null',
  },
} as const satisfies Declarations;
