/** New money: users who arrive or join another dex, and deposits of makers with little equity. */

import { findAccount } from '../state/accounts.ts';
import { accountFigures } from '../state/figures/figures.ts';
import { drawEquity } from './portfolio.ts';
import { formatUsd, pickUser, type Scene, USD, userAt } from './scene.ts';

const ARRIVAL_CHANCE = 0.25;
const FURTHER_DEX_CHANCE = 0.05;

/**
 * Makers deposit money if their equity falls below this amount, or below a share of the value of
 * their positions.
 */
const MAKER_EQUITY_MIN = 250_000 * USD;
const MAKER_EXPOSURE_MAX = 6;

export class Arrivals {
  #nextIndex: number;

  constructor(initialUserCount: number) {
    this.#nextIndex = initialUserCount;
  }

  step(scene: Scene): void {
    if (scene.random.chance(ARRIVAL_CHANCE)) this.#addUser(scene);
    if (scene.random.chance(FURTHER_DEX_CHANCE)) joinDex(scene);
    topUpMaker(scene);
  }

  /** Adds the next user that is not in the ledger yet, with a first deposit. */
  #addUser({ state, random, roster, draft }: Scene): void {
    while (this.#nextIndex < roster.userCount) {
      const index = this.#nextIndex++;
      const { address, text: user } = roster.user(index);
      if (state.addresses.find(address) !== 0) continue;
      const amount = formatUsd(drawEquity(random, roster.roleOf(index)));
      draft.append({ type: 'transfer', user, dex: '', amount });
      return;
    }
  }
}

function joinDex(scene: Scene): void {
  const { state, random, draft } = scene;
  const row = pickUser(scene);
  if (row === 0) return;
  const { name: dex } = random.pick(state.markets.dexes);
  const amount = formatUsd(drawEquity(random, 'retail'));
  draft.append({ type: 'transfer', user: userAt(scene, row), dex, amount });
}

/** Tops up one maker on one dex. All makers on all dexes take turns, one in each block. */
function topUpMaker({ state, roster, draft }: Scene): void {
  const { dexes } = state.markets;
  const turn = state.height % (roster.makers.length * dexes.length);
  const { address, text: user } = roster.makers[Math.floor(turn / dexes.length)];
  const dexIndex = turn % dexes.length;
  const account = findAccount(state, state.addresses.find(address), dexIndex);
  const { summary } = accountFigures(state, account);
  const equityMin = Math.max(MAKER_EQUITY_MIN, Number(summary.totalNtlPos) / MAKER_EXPOSURE_MAX);
  if (summary.accountValue >= equityMin) return;
  const missing = Math.ceil(2 * equityMin - Number(summary.accountValue));
  draft.append({ type: 'transfer', user, dex: dexes[dexIndex].name, amount: formatUsd(missing) });
}
