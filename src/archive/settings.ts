/** The settings of the archive. */

import type { Declarations } from '../config/setting.ts';
import { count, switchType } from '../config/value-types.ts';

/** The settings of a service that decide whether it has an archive. */
export const ARCHIVE_CHOICE_SETTINGS = {
  archive: {
    group: 'Most used',
    type: switchType,
    default: false,
    help: 'write an archive next to the ledger, and answer questions about the past from the archive',
  },
} as const satisfies Declarations;

export const ARCHIVE_RETENTION_SETTINGS = {
  archiveDays: {
    group: 'Snapshots and retention',
    type: count({ from: 1, to: 100_000 }),
    needs: ['archiver'],
    default: undefined,
    help: 'keep N days in the archive, counted from the newest block (default: all)',
  },
} as const satisfies Declarations;
