/**
 * The fold applies blocks to the state. A block is atomic: everything that its events write is
 * journaled, and a refusal rolls the block back. Readers never see a part of a block: if a block is
 * applied in pieces, its writes are hidden between the pieces.
 */

import type { PieceEvent } from '../events/block-pieces.ts';
import type { Block, BlockHead, Event, EventOf, EventRecord, EventType } from '../events/event.ts';
import { BlockError, Refusal } from '../events/refusal.ts';
import type { AccountModes } from './account-modes.ts';
import {
  applyAccount,
  applyCollateral,
  applyFunding,
  applyIsolatedMargin,
  applyLeverage,
  applyMorePositions,
  applyOrderMargin,
  applyTransfer,
} from './accounts.ts';
import type { AddressBook } from './addresses.ts';
import { endAuction, type RecordedAuction, startAuction } from './auction.ts';
import { applyFill } from './fills.ts';
import { applyDexes, applyUniverse } from './market-order.ts';
import type { MarketBook } from './markets/markets.ts';
import { applyAccountTime } from './partial-ledger.ts';
import {
  applyDelegate,
  applyDelegation,
  applyDelegationReward,
  applyDelegations,
  applyUndelegate,
} from './staking.ts';
import type { State } from './state.ts';
import type { Table } from './tables/table.ts';

/**
 * Its methods are called before and after each event of a block is applied. They may read the state
 * as it is then.
 */
export interface EventWatcher {
  before(event: Event): void;
  after(event: Event): void;
}

/** Applies the next block, or throws a BlockError and leaves the state as it was. */
export function applyBlock(state: State, block: Block, watcher?: EventWatcher): void {
  checkIsNext(state, block);
  const before = unjournaled(state);
  let index = 0;
  try {
    for (; index < block.events.length; index++) {
      watcher?.before(block.events[index]);
      applyEvent(state, block.events[index], block.time);
      watcher?.after(block.events[index]);
    }
  } catch (error) {
    rollback(state, before);
    if (!(error instanceof Refusal)) throw error;
    throw new BlockError({ height: block.height, index, type: block.events[index].type }, error);
  }
  commit(state);
  state.height = block.height;
  state.time = block.time;
}

/**
 * Applies the next block in pieces and yields after each piece. At each yield, readers see the
 * state before the block. The block is rolled back if an event is refused, or if the caller stops
 * early.
 */
export function* applyInPieces(
  state: State,
  { height, time }: BlockHead,
  pieces: Iterable<readonly PieceEvent[]>,
): Generator<void, void, void> {
  checkIsNext(state, { height, time });
  const before = unjournaled(state);
  let isWhole = false;
  try {
    for (const events of pieces) {
      for (const event of events) applyPieceEvent(state, event, time);
      yield* yieldHidden(state, before);
    }
    isWhole = true;
  } finally {
    if (!isWhole) rollback(state, before);
  }
  commit(state);
  state.height = height;
  state.time = time;
}

/** Yields to readers, which see the state as it was before the block. */
function* yieldHidden(state: State, before: Unjournaled): Generator<void, void, void> {
  const written = unjournaled(state);
  for (const part of journaledParts(state)) part.hide();
  Object.assign(state, before);
  try {
    yield;
  } finally {
    for (const part of journaledParts(state)) part.reveal();
    Object.assign(state, written);
  }
}

function checkIsNext(state: State, { height, time }: BlockHead): void {
  if (height !== state.height + 1) {
    const expected = `${state.height + 1}, the next height`;
    throw new BlockError({ height }, new Refusal('height', height, expected));
  }
  if (time < state.time) {
    const expected = `${state.time} or later, the time of the block before`;
    throw new BlockError({ height }, new Refusal('time', time, expected));
  }
}

/**
 * `time` is the time of the current block; `state.time` is still the time of the previous block.
 */
const APPLIERS: { [T in EventType]: (state: State, fields: EventOf<T>, time: number) => void } = {
  perpDex: (state, fields) => state.markets.applyPerpDex(fields, state.height + 1),
  market: (state, fields) => state.markets.applyMarket(fields, state.height + 1),
  marks: (state, fields) => state.markets.applyMarks(fields, state.height + 1),
  dexes: applyDexes,
  universe: applyUniverse,
  account: applyAccount,
  accountTime: applyAccountTime,
  accountMode: ({ addresses, modes, height }, { user, mode }) =>
    modes.set(addresses.findOrAdd(user), mode, height + 1),
  transfer: applyTransfer,
  orderMargin: applyOrderMargin,
  collateral: applyCollateral,
  leverage: applyLeverage,
  fill: applyFill,
  isolatedMargin: applyIsolatedMargin,
  funding: applyFunding,
  delegate: applyDelegate,
  undelegate: applyUndelegate,
  delegationReward: applyDelegationReward,
  delegation: applyDelegation,
  delegations: applyDelegations,
  partial: (state) => {
    state.isPartial = true;
  },
  deployAuction: (state, fields) => replaceAuction(state, startAuction(fields)),
  deployAuctionEnd: (state, fields) => replaceAuction(state, endAuction(state.auction, fields)),
  noDeployAuction: (state) => replaceAuction(state, null),
};

function replaceAuction(state: State, auction: RecordedAuction): void {
  state.auction = auction;
  state.auctionChangedAt = state.height + 1;
}

function applyEvent<T extends EventType>(state: State, event: EventRecord<T>, time: number): void {
  APPLIERS[event.type](state, event.fields, time);
}

function applyPieceEvent(state: State, event: PieceEvent, time: number): void {
  if (event.type === 'morePositions') applyMorePositions(state, event.fields);
  else applyEvent(state, event, time);
}

/**
 * Fields that a block replaces. They are not journaled: their values are saved before the block.
 */
type Unjournaled = Pick<State, 'auction' | 'auctionChangedAt' | 'isPartial' | 'universes'>;

function unjournaled({ auction, auctionChangedAt, isPartial, universes }: State): Unjournaled {
  return { auction, auctionChangedAt, isPartial, universes };
}

/** The journaled parts: everything else that a block writes to. */
function journaledParts(
  state: State,
): readonly (AccountModes | AddressBook | MarketBook | Table)[] {
  const { addresses, markets, accounts, positions, delegations, modes } = state;
  return [addresses, markets, accounts, positions, delegations, modes];
}

function commit(state: State): void {
  for (const part of journaledParts(state)) part.commit();
  state.changes.commit();
}

function rollback(state: State, before: Unjournaled): void {
  for (const part of journaledParts(state)) part.rollback();
  state.changes.rollback();
  Object.assign(state, before);
}
