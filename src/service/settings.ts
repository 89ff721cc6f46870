/** The settings of a service and its processes. */

import { ARCHIVE_CHOICE_SETTINGS, ARCHIVE_RETENTION_SETTINGS } from '../archive/settings.ts';
import type { Declarations, SettingValues } from '../config/setting.ts';
import { count, oneOf, port, text } from '../config/value-types.ts';
import { HTTP_SETTINGS } from '../http/settings.ts';
import { type NatsWait, STORAGE_SETTINGS } from '../ledger/settings.ts';
import { SNAPSHOT_SETTINGS } from '../replica/settings.ts';

export const LISTEN_SETTINGS = {
  host: {
    group: 'Most used',
    type: text('HOST'),
    default: '127.0.0.1',
    help: 'address to listen on; 0.0.0.0 for all',
  },
  port: {
    group: 'Most used',
    type: port,
    default: 8080,
    help: 'port to listen on; 0 lets the system choose',
  },
} as const satisfies Declarations;

export const ADMIN_SETTINGS = {
  adminHost: {
    group: 'Operation',
    type: text('HOST'),
    default: '127.0.0.1',
    help: 'address of the admin port',
  },
  adminPort: {
    group: 'Operation',
    type: port,
    default: 9464,
    help: 'port of metrics and of requests for a snapshot; 0 lets the system choose',
  },
} as const satisfies Declarations;

export const LOG_SETTINGS = {
  logLevel: {
    group: 'Operation',
    type: oneOf('LEVEL', 'debug', 'info', 'warn', 'error', 'silent'),
    default: 'info',
    help: 'log level: debug, info, warn, error or silent',
  },
  logFormat: {
    group: 'Operation',
    type: oneOf('FORMAT', 'auto', 'text', 'json'),
    default: 'auto',
    help: 'log format: text, json, or auto, which is text on a terminal and json elsewhere',
  },
} as const satisfies Declarations;

/**
 * @internal Exported for the tests of the documents, which start a worker in the test's own
 * process.
 */
export const WORKER_SETTINGS = {
  ...STORAGE_SETTINGS,
  ...ARCHIVE_CHOICE_SETTINGS,
  ...SNAPSHOT_SETTINGS,
  ...LISTEN_SETTINGS,
  ...HTTP_SETTINGS,
} as const satisfies Declarations;

export const SERVICE_SETTINGS = {
  ...WORKER_SETTINGS,
  workers: {
    group: 'Most used',
    type: count({ from: 1, to: 256 }),
    default: 1,
    help: 'number of worker processes, each with the whole state',
  },
  ...ADMIN_SETTINGS,
  ...ARCHIVE_RETENTION_SETTINGS,
} as const satisfies Declarations;

export type LogSettings = SettingValues<typeof LOG_SETTINGS>;
export type WorkerSettings = SettingValues<typeof WORKER_SETTINGS> & NatsWait;
export type ServiceSettings = SettingValues<typeof SERVICE_SETTINGS> & NatsWait;
