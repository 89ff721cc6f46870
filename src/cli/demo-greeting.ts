/** The text that the demo prints at its start: addresses, example users, and a request to try. */

import { formatAddress } from '../exact/address.ts';
import { answerQuestion } from '../info/read-question.ts';
import { formatOrigin } from '../service/listening/server-url.ts';
import type { StateView } from '../state/state.ts';

export interface DemoDescription {
  readonly host: string;
  readonly port: number;
  readonly secret: string;
  readonly demoData: string | undefined;
  readonly state: StateView;
}

/** Maximum number of users to search for examples. */
const USERS_SEARCHED_MAX = 2_000;
/**
 * The minimum time for which an example's stake stays locked. Most people look at a demo for less
 * than this time.
 */
const LOCKED_MS_MIN = 3_600_000;

interface Examples {
  /** A user with several positions and, if possible, a stake. */
  readonly trader: string;
  /**
   * A user with a locked stake, if possible. A stake that is not locked may be withdrawn while
   * somebody looks at the demo.
   */
  readonly staker: string;
  /** A user with positions on several dexes. */
  readonly multiDexTrader: string;
  /** The user with the most positions on the first dex. */
  readonly topHolder: string;
}

function findExamples(state: StateView): Examples {
  const count = Math.min(USERS_SEARCHED_MAX, state.addresses.table.rowCount - 1);
  const users = Array.from({ length: count }, (_, index) =>
    formatAddress(state.addresses.addressOf(index + 1)),
  );
  const ask = (question: object) => JSON.parse(answerQuestion(state, question));
  const counts = state.markets.dexes.map(({ name: dex }) => {
    const type = 'clearinghouseState';
    return users.map((user): number => ask({ type, user, dex }).assetPositions.length);
  });
  const [onFirst, ...onOthers] = counts;
  const pick = (index: number) => users[Math.max(0, index)];
  const delegationsOf = (user: string): { lockedUntilTimestamp: number }[] =>
    ask({ type: 'delegations', user });
  const isStaker = (user: string) => delegationsOf(user).length > 0;
  const isLocked = (user: string) =>
    delegationsOf(user).some((each) => each.lockedUntilTimestamp > state.time + LOCKED_MS_MIN);
  const traders = users.filter((_, i) => onFirst[i] >= 2 && onFirst[i] <= 6);
  return {
    trader: traders.find(isStaker) ?? traders[0] ?? users[0],
    staker: users.findLast(isLocked) ?? users.findLast(isStaker) ?? users[0],
    multiDexTrader: pick(
      users.findIndex((_, i) => onFirst[i] > 0 && onOthers.some((on) => on[i] > 1)),
    ),
    topHolder: pick(onFirst.indexOf(Math.max(...onFirst))),
  };
}

export function describeDemo(demo: DemoDescription): string {
  const { host, port, secret, demoData, state } = demo;
  const address = formatOrigin(host, port);
  const { trader, staker, multiDexTrader, topHolder } = findExamples(state);
  const users = new Set([trader, topHolder, multiDexTrader, staker]);
  const question = JSON.stringify({ type: 'clearinghouseState', user: trader });
  const afterwards =
    demoData === undefined ? 'its data is then deleted' : `its data stays in ${demoData}`;
  return `perpinfo demo: a simulated exchange, about ten blocks a second

  dashboard ${address}/#key=${secret}&users=${[...users]}
  endpoint  ${address}/${secret}/info
  clients   ${address}/${secret}/ (base address; keep the trailing slash)
  users     ${trader} (trades)
            ${staker} (stakes)

  export BASE=${address}/${secret}/
  curl -s "\${BASE}info" -H 'Content-Type: application/json' -d '${question}'

Ctrl-C stops it; ${afterwards}.
`;
}
