/**
 * The priorities of requests to the upstream, and the part of the budget that each priority may
 * use.
 */

/**
 * The purposes of requests, the most important first:
 *
 * - `probe`: to find out whether the upstream answers again
 * - `asked`: to read an account that a client waits for
 * - `upkeep`: to read everything except accounts
 * - `trade`: to read an account that a trade has named
 * - `hour`: to read an account whose funding is due
 * - `sweep`: to read an account because its rows are old
 * - `forward`: to forward a question
 */
export const PRIORITIES = [
  'probe',
  'asked',
  'upkeep',
  'trade',
  'hour',
  'sweep',
  'forward',
] as const;
export type Priority = (typeof PRIORITIES)[number];

/**
 * The part of the limit and of the connections that a priority may use. The rest stays free for
 * more important requests. `upkeep` may use everything, because markets and marks are needed even
 * if clients ask for many accounts.
 */
export const SHARES: Readonly<Record<Priority, number>> = {
  probe: 1,
  asked: 0.95,
  upkeep: 1,
  trade: 0.9,
  hour: 0.85,
  sweep: 0.75,
  forward: 1,
};

/** Returns true if the first priority is more important than the second. */
export function isHigher(first: Priority, second: Priority): boolean {
  return PRIORITIES.indexOf(first) < PRIORITIES.indexOf(second);
}

/** Returns true if a client waits for the answer. */
export function isForClient(priority: Priority): boolean {
  return priority === 'asked' || priority === 'forward';
}
