/**
 * The events that the simulator does not have. They say what was read from another server, and when. A
 * simulated exchange is its own source: it knows all of its accounts, and tells of each change as it
 * happens.
 */

import type { EventType } from '../../src/events/event.ts';

export const NOT_SIMULATED: readonly EventType[] = [
  'dexes',
  'universe',
  'accountTime',
  'accountMode',
  'delegations',
  'partial',
  'noDeployAuction',
];
