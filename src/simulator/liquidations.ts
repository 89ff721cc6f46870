/**
 * Liquidations: each block checks a limited number of users, and the next block continues with the
 * next users. Positions below their maintenance margin are closed against the market makers.
 */

import { FIRST_ACCOUNT } from '../state/addresses.ts';
import { accountFigures, type PositionFigures } from '../state/figures/figures.ts';
import { isLiquidatable } from '../state/figures/liquidation.ts';
import { CASH, NEXT_ACCOUNT, ORDER_MARGIN } from '../state/tables/columns.ts';
import { fillOrder } from './matching.ts';
import { type Actor, actorOf, formatUsd, type Scene } from './scene.ts';

const USERS_PER_BLOCK = 64;

export class Liquidations {
  #nextRow = 1;

  step(scene: Scene): void {
    const { table } = scene.state.addresses;
    const count = Math.min(USERS_PER_BLOCK, table.rowCount - 1);
    for (let visited = 0; visited < count && !scene.draft.isFull; visited++) {
      if (this.#nextRow >= table.rowCount) this.#nextRow = 1;
      inspectUser(scene, this.#nextRow);
      this.#nextRow++;
    }
  }
}

function inspectUser(scene: Scene, addressRow: number): void {
  const { state } = scene;
  let account = state.addresses.table.get(addressRow, FIRST_ACCOUNT);
  for (; account !== 0; account = state.accounts.get(account, NEXT_ACCOUNT)) {
    inspectAccount(scene, addressRow, account);
  }
}

function inspectAccount(scene: Scene, addressRow: number, account: number): void {
  const { state, roster, draft } = scene;
  const figures = accountFigures(state, account);
  const liquidated = figures.positions.filter((position) => isLiquidatable(figures, position));
  const hasCross = figures.positions.some(({ isIsolated }) => !isIsolated);
  const shortfall = hasCross ? 0 : -state.accounts.get(account, CASH);
  if (liquidated.length === 0 && shortfall <= 0) return;
  const actor = actorOf(scene, addressRow, account);
  if (!roster.isMaker(actor.user) && !draft.claim(addressRow)) return;
  if (liquidated.length > 0) closePositions(scene, actor, liquidated);
  else coverShortfall(scene, actor, shortfall);
}

function closePositions(scene: Scene, actor: Actor, liquidated: readonly PositionFigures[]): void {
  const { state, draft } = scene;
  const { user, dex, account } = actor;
  if (state.accounts.get(account, ORDER_MARGIN) !== 0) {
    draft.append({ type: 'orderMargin', user, dex, amount: formatUsd(0) });
  }
  for (const { market, size } of liquidated) {
    const marketIndex = state.markets.markets.indexOf(market);
    fillOrder(scene, { user, marketIndex, isBuy: size < 0, size: Math.abs(size) });
  }
}

/** The exchange's insurance fund covers the negative cash that a liquidation leaves. */
function coverShortfall({ draft }: Scene, { user, dex }: Actor, shortfall: number): void {
  draft.append({ type: 'transfer', user, dex, amount: formatUsd(shortfall) });
}
