/** How important a request to the upstream is, and what each importance may use. */

/**
 * Why a request is sent, most important first: to find out whether the upstream is back (`probe`), a
 * client asks (`asked`), everything that is not an account (`upkeep`), a trade named the account
 * (`trade`), its funding is due (`hour`), the account is old (`sweep`). `forward` is a question that
 * is passed on.
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
 * The part of the limit and of the connections that a priority may fill. The rest is free for more
 * important ones; and for the upkeep, since markets and marks are needed however much clients ask.
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

/** Whether somebody waits for the answer. */
export function isForClient(priority: Priority): boolean {
  return priority === 'asked' || priority === 'forward';
}
