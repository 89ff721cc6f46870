/**
 * The ledger that `weights.ts` asks about: the simulator's, with whales, accounts of 15,000 fills in every
 * market of the first dex but one. One is solvent, with positions of a billion dollars; one stays below its
 * maintenance margin, so that each block that makes a position smaller liquidates it.
 */

import { USD_DECIMALS } from '../../src/events/fields.ts';
import { formatUnits } from '../../src/exact/decimal.ts';
import { Random } from '../../src/simulator/random.ts';
import { createSimulator, type Simulator } from '../../src/simulator/simulator.ts';
import type { StateView } from '../../src/state/state.ts';
import { archiveOnce } from '../../test/archive/archived.ts';
import { appendChunks } from '../../tools/harness/data-directory.ts';
import { usersOf } from '../servers/dataset.ts';

const ACCOUNTS = 2_000;
const BLOCKS = 3_000;
const FILLS_PER_BLOCK = 5;
/** In dollars. */
const FILL_NOTIONAL = 10_000_000;
const USERS_ASKED = 200;

/** In this coin the whales have no position. */
export const UNTRADED = 'BTC';

interface Whale {
  readonly name: string;
  readonly user: string;
  readonly transfer: string;
}

export const WHALES: readonly Whale[] = [
  { name: 'whale', user: `0x${'a'.repeat(40)}`, transfer: '5000000000' },
  { name: 'whale under water', user: `0x${'b'.repeat(40)}`, transfer: '1000000' },
];

export interface WeightsData {
  readonly users: readonly string[];
  readonly height: number;
  readonly firstTime: number;
  readonly lastTime: number;
}

/** A ledger with its archive in the folder. */
export async function buildWeightsData(folder: string): Promise<WeightsData> {
  const simulator = createSimulator({ seed: 'weights', accounts: ACCOUNTS });
  let firstTime = 0;
  function* read(): Generator<Buffer> {
    const random = new Random('whales');
    for (let block = 1; block <= BLOCKS; block++) {
      const line = simulator.next();
      if (block === 1) firstTime = JSON.parse(line).time;
      yield Buffer.from(`${simulator.isSetUp ? addFills(line, simulator, random) : line}\n`);
    }
  }
  await appendChunks(folder, read(), { snapshotEvery: BLOCKS });
  await archiveOnce(folder);
  const { state } = simulator;
  const users = pickUsers(usersOf(state));
  return { users, height: state.height, firstTime, lastTime: state.time };
}

function pickUsers(users: readonly string[]): string[] {
  const random = new Random('users');
  return Array.from({ length: USERS_ASKED }, () => users[random.below(users.length)]);
}

/** The block with the fills of the whales, whom the simulator does not know. */
function addFills(line: string, { state }: Simulator, random: Random): string {
  const { height, time, events } = JSON.parse(line);
  for (const { user, transfer } of WHALES) {
    if (isFirst(user)) events.push({ type: 'transfer', user, dex: '', amount: transfer });
    for (let count = 0; count < FILLS_PER_BLOCK; count++) {
      events.push(fillOf(user, state, random));
    }
  }
  return JSON.stringify({ height, time, events });
}

const begun = new Set<string>();

function isFirst(user: string): boolean {
  return !begun.has(user) && begun.add(user) !== undefined;
}

function fillOf(user: string, { markets }: StateView, random: Random): object {
  const traded = markets.markets.filter(
    ({ dexIndex, coin }) => dexIndex === 0 && coin !== UNTRADED,
  );
  const market = traded[random.below(traded.length)];
  const mark = markets.markPrice(markets.markets.indexOf(market));
  const size = Math.max(1, Math.floor((FILL_NOTIONAL * 10 ** USD_DECIMALS) / mark));
  return {
    type: 'fill',
    user,
    coin: market.coin,
    side: random.below(2) === 0 ? 'B' : 'A',
    sz: formatUnits(size, market.sizeDecimals),
    px: formatUnits(mark, market.priceDecimals),
    fee: '0.0',
  };
}
