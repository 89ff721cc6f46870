/**
 * The settings for a live exchange: its address, the data that is read from it, and how often the
 * data is read.
 */

import type { Declarations, SettingValues } from '../config/setting.ts';
import {
  count,
  duration,
  headerType,
  milliseconds,
  oneOf,
  switchType,
  text,
  upstreamBudget,
  upstreamUrl,
  upstreamWeights,
  userAddress,
} from '../config/value-types.ts';

const HOUR_MS = 3_600_000;

/** The exchange that a service follows. */
export const FOLLOW_CHOICE_SETTINGS = {
  follow: {
    group: 'Most used',
    type: upstreamUrl,
    default: undefined,
    inFile: true,
    help: 'follow the exchange at this address: read what clients ask for from its /info',
  },
} as const satisfies Declarations;

/** The server that a command asks, for commands that need a server. */
export const UPSTREAM_SETTINGS = {
  upstream: {
    group: 'Most used',
    type: upstreamUrl,
    inFile: true,
    help: 'address of a server with the /info interface, such as the exchange',
  },
} as const satisfies Declarations;

export const UPSTREAM_HEADER_SETTINGS = {
  upstreamHeader: {
    group: 'Follow an exchange',
    type: headerType,
    needs: ['follower'],
    default: undefined,
    inFile: true,
    help: 'header to send to the server, such as the header with your key',
  },
} as const satisfies Declarations;

export const PROBE_SETTINGS = {
  ...UPSTREAM_SETTINGS,
  ...UPSTREAM_HEADER_SETTINGS,
  probedUser: {
    group: 'compare, probe and history',
    flag: 'user',
    variable: 'PERPINFO_USER',
    type: userAddress,
    default: undefined,
    help: "address whose accounts are compared with perpinfo's figures (default: nobody)",
  },
  probeTime: {
    group: 'compare, probe and history',
    flag: 'time',
    variable: 'PERPINFO_PROBE_TIME',
    type: duration,
    default: 600_000,
    help: 'how long to look, such as 10min or 30s',
  },
  probeJson: {
    group: 'compare, probe and history',
    flag: 'json',
    variable: 'PERPINFO_PROBE_JSON',
    type: text('FILE'),
    default: undefined,
    help: 'also write the report as JSON to this file',
  },
  showUser: {
    group: 'compare, probe and history',
    type: switchType,
    default: false,
    help: 'show addresses in the report',
  },
} as const satisfies Declarations;

/** The settings of each process that answers questions about a followed exchange. */
export const ANSWERING_UPSTREAM_SETTINGS = {
  forward: {
    group: 'Most used',
    type: switchType,
    default: false,
    help: 'forward questions that the ledger cannot answer, such as prices, orders and candles, to the exchange',
  },
  followWait: {
    group: 'Follow an exchange',
    type: milliseconds({ from: 0, to: 60_000 }),
    default: 5_000,
    help: 'how long a question waits for an account that has to be read (502 upstream_failed)',
  },
  maxAccountAge: {
    group: 'Follow an exchange',
    type: milliseconds({ from: 0 }),
    default: 0,
    help: 'read an account again before answering if the account was read longer ago than this; 0 for no limit',
  },
} as const satisfies Declarations;

export const FOLLOW_SETTINGS = {
  ...UPSTREAM_HEADER_SETTINGS,
  followSweep: {
    group: 'Follow an exchange',
    type: milliseconds({ from: 1000, to: 24 * HOUR_MS }),
    needs: ['follower'],
    default: 60_000,
    help: 'read an account again at this age, even if no change of the account is known',
  },
  followUsersMax: {
    group: 'Follow an exchange',
    type: count({ from: 0, to: 1000 }),
    needs: ['follower'],
    default: 10,
    help: 'maximum number of users, the most requested, that are subscribed to instead of polled; 0 for none',
  },
  followPush: {
    group: 'Follow an exchange',
    type: oneOf('MODE', 'on', 'off'),
    needs: ['follower'],
    default: 'on',
    help: 'off for an exchange without a push connection: poll everything',
  },
  followBudget: {
    group: 'Follow an exchange',
    type: upstreamBudget,
    needs: ['follower'],
    default: 1200,
    help: 'maximum weight of requests to the server in a minute, in the weights of that server; 0 for no limit',
  },
  upstreamWeights: {
    group: 'Follow an exchange',
    type: upstreamWeights,
    needs: ['follower'],
    default: undefined,
    help: 'weights of the server by type of question, if they differ from those of the public server; "default" is for all other types',
  },
  followWait: ANSWERING_UPSTREAM_SETTINGS.followWait,
  forward: ANSWERING_UPSTREAM_SETTINGS.forward,
} as const satisfies Declarations;

export type ProbeSettings = SettingValues<typeof PROBE_SETTINGS>;
export type FollowSettings = SettingValues<typeof FOLLOW_SETTINGS>;
