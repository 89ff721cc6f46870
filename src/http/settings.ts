/** The settings for requests, connections and push. */

import type { Declarations, SettingValues } from '../config/setting.ts';
import { count, explorerUrl, milliseconds, switchType } from '../config/value-types.ts';
import { FRESHNESS_SETTINGS } from '../replica/settings.ts';
import { ANSWERING_UPSTREAM_SETTINGS } from '../upstream/settings.ts';
import type { HttpLimits } from './limits.ts';

const HOUR_MS = 3_600_000;

const SERVER_SETTINGS = {
  refuseStale: {
    group: 'Freshness of answers',
    type: switchType,
    default: false,
    help: 'refuse to answer from a stale ledger (503 behind)',
  },
  minHeightWait: {
    group: 'Freshness of answers',
    type: milliseconds({ from: 0, to: HOUR_MS }),
    default: 1000,
    help: 'how long a request waits for its Ledger-Min-Height (503 behind)',
  },
  idleTimeout: {
    group: 'Requests and connections',
    type: milliseconds({ from: 100, to: HOUR_MS }),
    default: 65_000,
    help: 'keep-alive timeout: how long a connection may be idle between requests',
  },
  connectionsMax: {
    group: 'Requests and connections',
    type: count({ from: 1, to: 1_000_000 }),
    default: 20_000,
    help: 'maximum number of connections per worker; further connections are closed',
  },
  overloadDelay: {
    group: 'Requests and connections',
    type: milliseconds({ from: 1, to: HOUR_MS }),
    default: 250,
    help: 'refuse requests while the event loop is delayed by more than this (503 overloaded)',
  },
  noFastLane: {
    group: 'Requests and connections',
    type: switchType,
    default: false,
    help: "serve every request with Node's own HTTP server: the same answers, only slower",
  },
  explorerUrl: {
    group: 'Dashboard',
    type: explorerUrl,
    default: undefined,
    help: 'page of an explorer that the dashboard links each address to; {address} stands for the address',
  },
} as const satisfies Declarations;

const PUSH_SETTINGS = {
  pushInterval: {
    group: 'Push',
    type: milliseconds({ from: 0, to: HOUR_MS }),
    default: 250,
    help: 'time between two pushes to a subscription, up to a tenth less to send several together; 0 to push after every batch of blocks',
  },
  pushConnectionsMax: {
    group: 'Push',
    type: count({ from: 0, to: 1_000_000 }),
    default: 2000,
    help: 'maximum number of push connections per key (429), and of subscriptions per key, 10 for each connection',
  },
} as const satisfies Declarations;

/** All settings that decide how requests are accepted and answered. */
export const HTTP_SETTINGS = {
  ...FRESHNESS_SETTINGS,
  ...ANSWERING_UPSTREAM_SETTINGS,
  ...SERVER_SETTINGS,
  ...PUSH_SETTINGS,
} as const satisfies Declarations;
/** The settings that operators choose, and our constant limits. */
export type HttpSettings = SettingValues<typeof HTTP_SETTINGS> & HttpLimits;
