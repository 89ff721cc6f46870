/**
 * The priorities of requests to the upstream, and the part of the budget that each priority may
 * use.
 */

/**
 * Why a request is sent, most important first: `probe` finds out whether the upstream answers
 * again; `asked`: a client waits for an account; `upkeep`: everything except accounts; `trade`: a
 * trade named the account; `hour`: the account's funding is due; `sweep`: the account is old;
 * `forward`: a question that is passed on.
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
 * The part of the limit and of the connections that a priority may fill. The rest stays free for
 * more important requests. `upkeep` may fill all, since markets and marks are needed however much
 * clients ask.
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

/** Whether the first is more important than the second. */
export function isHigher(first: Priority, second: Priority): boolean {
  return PRIORITIES.indexOf(first) < PRIORITIES.indexOf(second);
}

/** Whether a client waits for the answer. */
export function isForClient(priority: Priority): boolean {
  return priority === 'asked' || priority === 'forward';
}
