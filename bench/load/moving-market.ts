/**
 * Creates blocks that continue a ledger, in which every mark moves. The simulator's blocks also
 * name all marks, but in a tenth of a second, a fifth of the marks round to the price that they
 * had. Answers that do not change would make a cache look better than it is.
 */

import { USD_DECIMALS } from '../../src/events/fields.ts';
import { formatAddress } from '../../src/exact/address.ts';
import { formatUnits, powerOfTen } from '../../src/exact/decimal.ts';
import { stepOfFigures } from '../../src/simulator/prices.ts';
import { Random } from '../../src/simulator/random.ts';
import { FIRST_ACCOUNT } from '../../src/state/addresses.ts';
import type { StateView } from '../../src/state/state.ts';
import {
  FIRST_POSITION,
  marketOfTerms,
  NEXT_POSITION,
  TERMS,
} from '../../src/state/tables/columns.ts';

const SIGNIFICANT_FIGURES = 5;
/** The maximum distance of a mark from its first price, in steps of the price. */
const STEPS_AWAY_MAX = 50;
const SIZE_UNITS_MAX = 9;
const FEE_MICROS_MAX = 1000;
const NEXT_POSITION_CHANCE = 0.6;

/** The price around which a mark moves, and the present distance of the mark from it, in steps. */
interface Walk {
  readonly coin: string;
  readonly priceDecimals: number;
  readonly base: number;
  readonly step: number;
  readonly stepsMax: number;
  steps: number;
}

export class MovingMarket {
  readonly #state: StateView;
  readonly #random: Random;
  readonly #walks: readonly Walk[];

  /** The market only reads the state. The caller applies the lines to the state. */
  constructor(state: StateView, seed: string) {
    this.#state = state;
    this.#random = new Random(seed);
    this.#walks = state.markets.markets.map(({ coin, priceDecimals }, index) =>
      startWalk(coin, priceDecimals, state.markets.markPrice(index)),
    );
  }

  /** Returns the next block: all marks, then fills of random users in coins of their positions. */
  nextLine(eventCount: number): string {
    const events = [this.#moveMarks()];
    while (events.length < eventCount) events.push(this.#fill());
    const time = Math.max(this.#state.time, Date.now());
    return `{"height":${this.#state.height + 1},"time":${time},"events":[${events.join(',')}]}`;
  }

  #moveMarks(): string {
    const prices: Record<string, string> = {};
    for (const walk of this.#walks) {
      walk.steps = this.#drawOtherThan(walk.steps, walk.stepsMax);
      prices[walk.coin] = formatUnits(walk.base + walk.steps * walk.step, walk.priceDecimals);
    }
    return JSON.stringify({ type: 'marks', prices });
  }

  #drawOtherThan(last: number, stepsMax: number): number {
    const drawn = this.#random.below(2 * stepsMax) - stepsMax;
    return drawn < last ? drawn : drawn + 1;
  }

  #fill(): string {
    const { markets } = this.#state;
    const { user, marketIndex } = this.#drawHolder();
    const { coin, sizeDecimals, priceDecimals } = markets.markets[marketIndex];
    return JSON.stringify({
      type: 'fill',
      user,
      coin,
      side: this.#random.chance(0.5) ? 'B' : 'A',
      sz: formatUnits(1 + this.#random.below(SIZE_UNITS_MAX), sizeDecimals),
      px: formatUnits(markets.markPrice(marketIndex), priceDecimals),
      fee: formatUnits(this.#random.below(FEE_MICROS_MAX), USD_DECIMALS),
    });
  }

  /** Returns a random user, and the market of one of the user's positions. */
  #drawHolder(): { user: string; marketIndex: number } {
    const { addresses, accounts, positions } = this.#state;
    for (;;) {
      const row = 1 + this.#random.below(addresses.table.rowCount - 1);
      let position = accounts.get(addresses.table.get(row, FIRST_ACCOUNT), FIRST_POSITION);
      if (position === 0) continue;
      for (;;) {
        const next = positions.get(position, NEXT_POSITION);
        if (next === 0 || !this.#random.chance(NEXT_POSITION_CHANCE)) break;
        position = next;
      }
      const user = formatAddress(addresses.addressOf(row));
      return { user, marketIndex: marketOfTerms(positions.get(position, TERMS)) };
    }
  }
}

function startWalk(coin: string, priceDecimals: number, base: number): Walk {
  const step = Math.min(stepOfFigures(base, SIGNIFICANT_FIGURES), powerOfTen(priceDecimals));
  const stepsMax = Math.max(1, Math.min(STEPS_AWAY_MAX, Math.floor(base / step) - 1));
  return { coin, priceDecimals, base, step, stepsMax, steps: 0 };
}
