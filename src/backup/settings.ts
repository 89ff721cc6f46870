/** The settings of backups. */

import type { Declarations } from '../config/setting.ts';
import { switchType, text } from '../config/value-types.ts';

export const BACKUP_SETTINGS = {
  backupTo: {
    group: 'backup and restore',
    flag: 'to',
    variable: 'PERPINFO_BACKUP_TO',
    type: text('FILE'),
    help: 'file to back up to; an earlier backup of the same ledger is brought up to date',
  },
  withoutKeys: {
    group: 'backup and restore',
    type: switchType,
    default: false,
    help: 'leave the access keys out of the backup',
  },
} as const satisfies Declarations;

export const RESTORE_SETTINGS = {
  backupFrom: {
    group: 'backup and restore',
    flag: 'from',
    variable: 'PERPINFO_BACKUP_FROM',
    type: text('FILE'),
    help: 'backup to restore',
  },
} as const satisfies Declarations;
