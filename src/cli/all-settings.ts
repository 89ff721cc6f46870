/** Collects the settings of all folders. */

import { KEY_SETTINGS } from '../access/settings.ts';
import { BACKUP_SETTINGS, RESTORE_SETTINGS } from '../backup/settings.ts';
import {
  type Declarations,
  groupSettings,
  listSettings,
  type Setting,
  type SettingGroup,
} from '../config/setting.ts';
import { FEED_CHOICE_SETTINGS, FEED_SETTINGS } from '../feed/settings.ts';
import { LOG_SETTINGS, SERVICE_SETTINGS } from '../service/settings.ts';
import { FOLLOW_CHOICE_SETTINGS, FOLLOW_SETTINGS, PROBE_SETTINGS } from '../upstream/settings.ts';
import {
  ARCHIVE_COMMAND_SETTINGS,
  COPY_SETTINGS,
  DEMO_SETTINGS,
  HISTORY_SETTINGS,
  QUERY_SETTINGS,
  SIMULATE_SETTINGS,
} from './settings.ts';

/** @internal The settings of all commands, by name. Exported for a test. */
export const ALL_DECLARATIONS = {
  ...FEED_SETTINGS,
  ...FEED_CHOICE_SETTINGS,
  ...FOLLOW_CHOICE_SETTINGS,
  ...PROBE_SETTINGS,
  ...FOLLOW_SETTINGS,
  ...SERVICE_SETTINGS,
  ...LOG_SETTINGS,
  ...KEY_SETTINGS,
  ...QUERY_SETTINGS,
  ...HISTORY_SETTINGS,
  ...ARCHIVE_COMMAND_SETTINGS,
  ...COPY_SETTINGS,
  ...BACKUP_SETTINGS,
  ...RESTORE_SETTINGS,
  ...DEMO_SETTINGS,
  ...SIMULATE_SETTINGS,
} as const satisfies Declarations;

export const ALL_SETTINGS: readonly Setting[] = listSettings(ALL_DECLARATIONS);

/** The groups in the order of docs/reference/settings.md. */
export const SETTING_GROUPS: readonly SettingGroup[] = groupSettings(ALL_SETTINGS);
