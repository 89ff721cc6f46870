/**
 * The ledger that `weights.ts` asks about: a ledger of the simulator with whales, which are
 * accounts with 15,000 fills. They trade in every market of the first dex but one. One whale is
 * solvent, with positions of a billion dollars. The other whale stays below its maintenance margin,
 * so that each block that makes a position smaller liquidates it. The last blocks open many more
 * accounts of that size. A cache has no room for all of them, so that answers about them are
 * computed anew.
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
/** The value of a fill, in dollars. */
const FILL_NOTIONAL = 10_000_000;
const USERS_ASKED = 200;
/** The number of further whales. A cache of 4 MB has no room for so many answers of 13 KB. */
const WHALES_ANEW = 400;
const WHALES_PER_BLOCK = 20;
/** The maximum value of each position, in dollars. */
const POSITION_NOTIONAL_MAX = 300_000_000;

/** The coin in which the whales have no position. */
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
  /** Many more users: a cache has no room for all answers about them. */
  readonly allUsers: readonly string[];
  readonly allWhales: readonly string[];
  readonly height: number;
  readonly firstTime: number;
  readonly lastTime: number;
}

/** Writes a ledger and its archive to the folder. */
export async function buildWeightsData(folder: string): Promise<WeightsData> {
  const simulator = createSimulator({ seed: 'weights', accounts: ACCOUNTS });
  let firstTime = 0;
  function* read(): Generator<Buffer> {
    const random = new Random('whales');
    for (let block = 1; block <= BLOCKS; block++) {
      const line = simulator.next();
      if (block === 1) firstTime = JSON.parse(line).time;
      const opened = openedIn(block);
      const filled = simulator.isSetUp ? addFills(line, simulator, random) : line;
      yield Buffer.from(`${addWhales(filled, opened, simulator, random)}\n`);
    }
  }
  await appendChunks(folder, read(), { snapshotEvery: BLOCKS });
  await archiveOnce(folder);
  const { state } = simulator;
  const allUsers = usersOf(state);
  const users = pickUsers(allUsers);
  return {
    users,
    allUsers,
    allWhales: listWhales(),
    height: state.height,
    firstTime,
    lastTime: state.time,
  };
}

function pickUsers(users: readonly string[]): string[] {
  const random = new Random('users');
  return Array.from({ length: USERS_ASKED }, () => users[random.below(users.length)]);
}

/** Returns the block with additional fills of the whales, which the simulator does not know. */
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

function listWhales(): string[] {
  return Array.from(
    { length: WHALES_ANEW },
    (_, index) => `0xc${index.toString(16).padStart(39, '0')}`,
  );
}

/**
 * Returns the whales that a block opens. Each of the last blocks opens some whales, because a block
 * must not be longer than a megabyte.
 */
function openedIn(block: number): string[] {
  const whales = listWhales();
  const start = (block - BLOCKS - 1) * WHALES_PER_BLOCK + whales.length;
  return start < 0 ? [] : whales.slice(start, start + WHALES_PER_BLOCK);
}

/** Returns the block with the accounts of these users, which have billions of dollars. */
function addWhales(
  line: string,
  users: readonly string[],
  { state }: Simulator,
  random: Random,
): string {
  if (users.length === 0) return line;
  const { height, time, events } = JSON.parse(line);
  for (const user of users) {
    const positions = tradedMarkets(state).map((market) => positionIn(market, state, random));
    events.push({ type: 'account', user, dex: '', rawUsd: '3000000000.0', positions });
  }
  return JSON.stringify({ height, time, events });
}

function tradedMarkets({ markets }: StateView) {
  return markets.markets.filter(
    ({ dexIndex, coin, onlyIsolated }) => dexIndex === 0 && coin !== UNTRADED && !onlyIsolated,
  );
}

function positionIn(
  market: ReturnType<typeof tradedMarkets>[number],
  { markets }: StateView,
  random: Random,
): object {
  const mark = markets.markPrice(markets.markets.indexOf(market));
  const notional = (1 + random.below(POSITION_NOTIONAL_MAX)) * 10 ** USD_DECIMALS;
  const size = Math.max(1, Math.floor(notional / mark));
  const side = random.below(2) === 0 ? '' : '-';
  return {
    coin: market.coin,
    szi: `${side}${formatUnits(size, market.sizeDecimals)}`,
    entryNtl: formatUnits(size * mark, USD_DECIMALS),
    leverage: { type: 'cross', value: 1 + random.below(3) },
    cumFunding: { allTime: '12345.678901', sinceOpen: '-123.456789', sinceChange: '1.234567' },
  };
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
