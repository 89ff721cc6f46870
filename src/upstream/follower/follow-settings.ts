/** The settings of commands that follow a live exchange. */

import type { Settings } from '../../config/settings.ts';

export const FOLLOW_SETTINGS = [
  'upstreamHeader',
  'followInterval',
  'followSweep',
  'followMarks',
  'followKeepDays',
  'followUsersMax',
  'followPush',
  'followBudget',
  'upstreamWeights',
  'followForget',
  'followWait',
  'forward',
  'forwardKeep',
] as const;
export type FollowSettings = Settings<
  (typeof FOLLOW_SETTINGS)[number] | 'aheadMax' | 'blockBytesMax' | 'data'
>;
