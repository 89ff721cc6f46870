/**
 * Funding: once an hour, every position pays or receives at the market's rate. A round is spread
 * over blocks, with a limited number of users in each block.
 */

import { FIRST_ACCOUNT } from '../state/addresses.ts';
import {
  FIRST_POSITION,
  marketOfTerms,
  NEXT_ACCOUNT,
  NEXT_POSITION,
  SIZE,
  TERMS,
} from '../state/tables/columns.ts';
import { formatUsd, type Scene, userAt } from './scene.ts';

const HOUR_MS = 3_600_000;
const RATE_MEAN = 0.0000125;
const RATE_DEVIATION = 0.00002;
const PAYMENTS_PER_BLOCK = 1000;
const USERS_PER_BLOCK = 2000;

type Payment = [user: string, amount: string];

export class FundingRounds {
  #hour: number | undefined;
  /** The rates by market, for the hour that is being paid. */
  #rates: number[] = [];
  /** The next user of the round; 0 if no round is running. */
  #nextRow = 0;

  /** A round that takes longer than an hour is finished first; the hours in between are skipped. */
  step(scene: Scene): void {
    const hour = Math.floor(scene.time / HOUR_MS);
    this.#hour ??= hour;
    if (this.#nextRow === 0 && hour > this.#hour) this.#start(scene, hour);
    if (this.#nextRow !== 0) this.#payNext(scene);
  }

  #start({ state, random }: Scene, hour: number): void {
    this.#hour = hour;
    this.#nextRow = 1;
    this.#rates = state.markets.markets.map(() => RATE_MEAN + random.normal() * RATE_DEVIATION);
  }

  #payNext(scene: Scene): void {
    const { addresses, markets } = scene.state;
    const payments = markets.markets.map((): Payment[] => []);
    const rowEnd = Math.min(addresses.table.rowCount, this.#nextRow + USERS_PER_BLOCK);
    let count = 0;
    let row = this.#nextRow;
    for (; row < rowEnd && count < PAYMENTS_PER_BLOCK; row++) {
      count += this.#payUser(scene, row, payments);
    }
    this.#nextRow = row < addresses.table.rowCount ? row : 0;
    for (const [index, { coin }] of markets.markets.entries()) {
      if (payments[index].length === 0) continue;
      scene.draft.append({ type: 'funding', coin, payments: payments[index] });
    }
  }

  /** Adds the user's payments, returns their number, and claims the user for this block. */
  #payUser(scene: Scene, addressRow: number, payments: readonly Payment[][]): number {
    const { state } = scene;
    let count = 0;
    let account = state.addresses.table.get(addressRow, FIRST_ACCOUNT);
    for (; account !== 0; account = state.accounts.get(account, NEXT_ACCOUNT)) {
      let position = state.accounts.get(account, FIRST_POSITION);
      for (; position !== 0; position = state.positions.get(position, NEXT_POSITION)) {
        const size = state.positions.get(position, SIZE);
        if (size === 0) continue;
        const marketIndex = marketOfTerms(state.positions.get(position, TERMS));
        const value = size * state.markets.markPrice(marketIndex);
        const amount = Math.round(value * this.#rates[marketIndex]);
        payments[marketIndex].push([userAt(scene, addressRow), formatUsd(amount)]);
        count++;
      }
    }
    if (count > 0) scene.draft.claim(addressRow);
    return count;
  }
}
